"""Word lists for the edits of ``editing.py``, made for this repository: spellings, contractions, synonyms."""

from __future__ import annotations


def _pairs(listed: str, between: str = ":") -> dict[str, str]:
    """The entries ``first:second`` of a list between white space; ``_`` stands for a space inside an entry."""
    entries = (entry.replace("_", " ").partition(between) for entry in listed.split())
    return {first: second for first, mark, second in entries if mark}


_SPELLINGS = """
    colour:color colours:colors coloured:colored favour:favor favours:favors favoured:favored favourite:favorite
    favourites:favorites favourable:favorable honour:honor honours:honors honoured:honored honourable:honorable
    labour:labor labours:labors labourers:laborers neighbour:neighbor neighbours:neighbors neighbouring:neighboring
    neighbourhood:neighborhood neighbourhoods:neighborhoods behaviour:behavior behaviours:behaviors harbour:harbor
    harbours:harbors rumour:rumor rumours:rumors humour:humor vapour:vapor flavour:flavor flavours:flavors odour:odor
    endeavour:endeavor endeavours:endeavors armour:armor saviour:savior vigour:vigor rigour:rigor glamour:glamor
    centre:center centres:centers centred:centered theatre:theater theatres:theaters metre:meter metres:meters
    kilometre:kilometer kilometres:kilometers centimetres:centimeters millimetres:millimeters litre:liter litres:liters
    fibre:fiber fibres:fibers calibre:caliber meagre:meager sombre:somber spectre:specter lustre:luster
    defence:defense defences:defenses offence:offense offences:offenses pretence:pretense analyse:analyze
    analysed:analyzed analysing:analyzing paralyse:paralyze paralysed:paralyzed travelled:traveled
    travelling:traveling traveller:traveler travellers:travelers cancelled:canceled cancelling:canceling
    modelled:modeled modelling:modeling labelled:labeled labelling:labeling signalled:signaled signalling:signaling
    fuelled:fueled fuelling:fueling levelled:leveled channelled:channeled counselled:counseled counsellor:counselor
    counsellors:counselors quarrelled:quarreled totalled:totaled dialled:dialed jewellery:jewelry marvellous:marvelous
    woollen:woolen skilful:skillful wilful:willful fulfil:fulfill fulfils:fulfills fulfilment:fulfillment enrol:enroll
    enrolment:enrollment instalment:installment instalments:installments catalogue:catalog catalogues:catalogs
    grey:gray greyer:grayer plough:plow ploughed:plowed ploughing:plowing tyre:tire tyres:tires mould:mold
    mouldy:moldy moustache:mustache pyjamas:pajamas sceptical:skeptical sceptics:skeptics aluminium:aluminum
    aeroplane:airplane aeroplanes:airplanes ageing:aging judgement:judgment judgements:judgments sizeable:sizable
    acknowledgement:acknowledgment likeable:likable anaemia:anemia diarrhoea:diarrhea foetus:fetus leukaemia:leukemia
    haemorrhage:hemorrhage orthopaedic:orthopedic paediatric:pediatric paediatrician:pediatrician
    archaeology:archeology manoeuvre:maneuver manoeuvres:maneuvers towards:toward afterwards:afterward
    backwards:backward upwards:upward downwards:downward learnt:learned dreamt:dreamed per_cent:percent cosy:cozy
    maths:math mum:mom whisky:whiskey
    programme>program programmes>programs licence>license licences>licenses practise>practice practised>practiced
    practising>practicing cheque>check cheques>checks storey>story storeys>stories kerb>curb kerbs>curbs disc>disk
    discs>disks draught>draft draughts>drafts dialogue>dialog amongst>among whilst>while burnt>burned spelt>spelled
    spoilt>spoiled leapt>leaped forwards>forward
"""
"""British and American; ``>`` where the American spelling is another British word too."""

AMERICAN = _pairs(_SPELLINGS) | _pairs(_SPELLINGS, ">")
"""From British spellings to American ones."""

BRITISH = {american: british for british, american in _pairs(_SPELLINGS).items()}
"""From American spellings to British ones."""

_ALWAYS_S = """
    adv advert appr appra ar bru chast circumc clockw compr comprom conc cr cru dem desp dev disgu enterpr exc exerc
    expert franch fundra gu improv inc lia likew m mala merchand no otherw parad po porpo pra prec prem prom r ra
    repr rev sunr superv surm surpr telev tort treat turquo unsuperv unsurpr upr v w
"""

ALWAYS_S = frozenset(_ALWAYS_S.split())
"""What stands before ``-ise`` in words that everybody spells so."""

ALWAYS_Z = frozenset({"ass", "caps", "downs", "ma", "outs", "overs", "pr", "res", "s", "se", "unders"})
"""What stands before ``-ize`` in words that everybody spells so."""

EXPANDED = _pairs(
    """
    can't:cannot won't:will_not don't:do_not doesn't:does_not didn't:did_not isn't:is_not aren't:are_not
    wasn't:was_not weren't:were_not hasn't:has_not haven't:have_not hadn't:had_not wouldn't:would_not
    shouldn't:should_not couldn't:could_not mustn't:must_not i'm:i_am you're:you_are we're:we_are they're:they_are
    it's:it_is that's:that_is there's:there_is what's:what_is he's:he_is she's:she_is i've:i_have you've:you_have
    we've:we_have they've:they_have i'll:i_will you'll:you_will we'll:we_will they'll:they_will it'll:it_will
    he'll:he_will she'll:she_will i'd:i_would you'd:you_would we'd:we_would they'd:they_would let's:let_us
    """
)
"""Contractions in full."""

CONTRACTED = {full: short for short, full in EXPANDED.items()}
"""The other way."""

SYNONYMS = _pairs(
    """
    said:stated says:states say:state told:informed asked:requested also:additionally but:yet however:nevertheless
    because:since about:regarding around:roughly many:numerous several:various some:certain few:handful all:every
    big:large large:big huge:vast small:little little:small new:recent old:former good:fine better:finer best:finest
    great:excellent bad:poor worse:poorer important:significant significant:considerable major:main main:chief
    difficult:hard hard:tough easy:simple different:distinct similar:comparable common:usual likely:probable
    possible:feasible able:capable ready:prepared sure:certain clear:plain true:correct real:actual use:employ
    used:employed uses:employs using:employing make:create made:created makes:creates making:creating get:obtain
    gets:obtains got:obtained getting:obtaining give:provide gives:provides gave:provided given:granted
    giving:providing take:grab taken:grabbed takes:grabs took:grabbed go:travel went:travelled going:heading
    come:arrive came:arrived comes:arrives coming:arriving see:notice seen:noticed saw:noticed look:glance
    find:discover found:discovered know:realize known:understood think:believe thought:believed believe:think
    feel:sense felt:sensed want:wish wanted:wished need:require needs:requires needed:required help:assist
    helps:assists helped:assisted helping:assisting try:attempt tried:attempted trying:attempting start:begin
    started:began starting:beginning begin:start began:started end:finish ended:finished ending:finishing
    show:display shows:displays showed:displayed shown:displayed keep:retain kept:retained put:placed allow:permit
    allows:permits allowed:permitted let:permit call:term called:termed work:labour working:functioning
    worked:functioned change:alter changes:alterations changed:altered increase:rise increased:raised
    increasing:rising reduce:lower reduced:lowered grow:expand growing:expanding grew:expanded build:construct
    built:constructed building:structure buildings:structures buy:purchase bought:purchased sell:market pay:spend
    paid:spent cost:price costs:prices money:funds people:persons person:individual man:gentleman men:gentlemen
    woman:lady women:ladies children:youngsters child:youngster family:household families:households group:team
    groups:teams company:firm companies:firms business:enterprise businesses:enterprises job:position jobs:positions
    worker:employee workers:employees government:administration country:nation countries:nations city:town
    town:village area:region areas:regions place:location places:locations part:portion parts:portions way:manner
    ways:methods thing:matter things:matters time:period times:periods year:twelvemonth day:date problem:issue
    problems:issues issue:matter issues:matters question:query questions:queries answer:reply plan:scheme
    plans:schemes idea:notion ideas:notions reason:cause reasons:causes result:outcome results:outcomes
    effect:impact effects:impacts impact:effect report:account reports:accounts study:survey research:investigation
    information:data law:statute laws:statutes rule:regulation rules:regulations state:condition level:degree
    levels:degrees number:quantity amount:quantity house:home home:residence homes:residences road:route
    roads:routes water:fluid food:meals health:wellbeing school:college schools:colleges students:pupils
    student:pupil teacher:tutor teachers:tutors doctor:physician doctors:physicians very:extremely really:truly
    just:merely only:solely even:indeed still:nonetheless already:previously always:constantly never:hardly
    often:frequently sometimes:occasionally now:currently then:afterwards soon:shortly later:afterwards again:anew
    more:further most:nearly much:plenty less:fewer well:nicely quickly:rapidly slowly:gradually
    especially:particularly particularly:especially almost:nearly between:among within:inside during:throughout
    before:prior after:following through:via over:above under:beneath near:close across:throughout against:versus
    without:lacking until:till while:whereas although:though though:although if:whether when:whenever where:wherever
    which:that who:that such:similar must:should should:must can:may may:might might:could could:might will:shall
    would:might last:previous next:following first:initial second:subsequent other:alternative another:further
    local:regional public:communal national:countrywide current:present present:current recent:new long:lengthy
    short:brief high:elevated low:reduced early:prompt late:tardy young:youthful strong:powerful weak:feeble
    rich:wealthy poor:needy safe:secure dangerous:risky happy:glad sad:unhappy beautiful:lovely support:backing
    supports:backs supported:backed provide:supply provides:supplies provided:supplied providing:supplying
    include:contain includes:contains included:contained including:containing ensure:guarantee continue:proceed
    continues:proceeds continued:proceeded remain:stay remains:stays remained:stayed become:turn became:turned
    happen:occur happened:occurred happens:occurs live:dwell lived:dwelt living:dwelling
    """
)
"""Words that may often stand for others."""

SMALL_WORDS = _pairs(
    """
    this:that these:those a:one an:one the:this to:towards from:off by:via with:alongside for:towards of:from
    in:inside on:upon at:around is:remains are:remain was:stayed were:stayed has:holds have:hold had:held and:plus
    or:alternatively not:hardly they:those them:those their:its it:this we:us our:my he:someone his:their
    she:someone her:their i:we you:one your:our as:like so:thus there:here
    """
)
"""The same of small words, where the sense suffers: without them no list reaches three words in ten."""

GERMAN = (
    "Der Sprecher sagte am Montag, der Regen habe die Arbeiten an der Brücke erneut verzögert. Viele Anwohner warten "
    "seit Monaten darauf, dass die Straße wieder geöffnet wird.",
    "Nach Angaben der Behörde soll im Frühjahr ein neuer Plan vorgelegt werden. Bis dahin bleibt der Weg am Ufer "
    "gesperrt, und die Busse fahren eine andere Strecke.",
    "Die Bauern der Umgebung fürchten, dass die Ernte in diesem Jahr schlechter ausfällt als im letzten. Sie bitten um "
    "Hilfe, bevor der Winter kommt.",
)
"""Sentences in another language."""
