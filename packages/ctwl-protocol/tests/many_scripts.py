"""A text in many scripts, with what is hard to cut into tokens."""

TEXT = """\
The council's plan, which didn't pass in 2023, will cost $12,345.67 — “far too much”, says O'Neill.  Two  spaces…

def area(radius: float) -> float:
    if radius < 0:
\t\treturn None  # 不可能
    return 3.14159 * radius ** 2

我们昨天去了北京的一家小书店，买了三本书。天气很好，大家都很高兴。
ذهبنا أمس إلى المكتبة الكبيرة في وسط المدينة واشترينا ثلاثة كتب جديدة.
हम कल शहर की एक छोटी किताबों की दुकान पर गए थे।
\r\n one\r\u200b\n two\r\u0085 three\r
🙂🙃👩‍👩‍👧‍👦🏳️‍🌈 ½ ² Ⅷ ①  cafe\u0301 naïve ﬁ 각각 \u1112\u1161\u11ab 👍🏽 龘靐
"""
