#!/bin/bash -eu
# OSS-Fuzz runs this in a checkout: a program for each parser of tools/fuzz.py, with its sound documents as the corpus.
python3 -m pip install ./packages/ctwl-protocol
python3 tools/fuzz.py --seeds "$WORK/seeds"
for folder in "$WORK"/seeds/*/; do
  parser=$(basename "$folder")
  printf 'import sys\nimport fuzz\nfuzz.target("%s", sys.argv[1:])\n' "$parser" > "$SRC/fuzz_$parser.py"
  compile_python_fuzzer "$SRC/fuzz_$parser.py" --paths "$PWD/tools" --collect-data ctwl_protocol --collect-submodules numpy._core
  (cd "$folder" && zip -q -r "$OUT/fuzz_${parser}_seed_corpus.zip" .)
done
