# SGLang asks for CUDA; on a CPU its modules do with what they import. Its wheel is the one that servers run.
python -m pip install --quiet "$TORCH"
python -m pip install --quiet --no-deps sglang==0.5.23
python -m pip install --quiet -r rooms/ctwl-engines/tests/sglang/requirements.txt
python -m pip install --quiet -e 'packages/ctwl-protocol[offline,proxy]'
