# llama-cpp-python comes as its source, which takes minutes to compile, and not for this machine alone: on a virtual machine
# llama.cpp may then crash where it uses AMX. What reads pictures is left out. There is no torch here: its users need none.
CMAKE_ARGS="-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF" python -m pip install --quiet 'llama-cpp-python[server]==0.3.36'
python -m pip install --quiet -e 'packages/ctwl-protocol[offline]'
