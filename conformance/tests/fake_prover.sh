#!/bin/sh
# A prover of one statement, whose answers lie beside it: enough of the command line for the suite to run against.
# `fault.sh` is read after the arguments and may spoil anything.
set -eu
here=$(dirname "$0")
command=$1
shift
file='' miner='' sector=1 type='' backend=auto ntt=six report='' out=''
while [ $# -gt 0 ]; do
    case $1 in
        --miner) miner=$2; shift 2 ;;
        --sector) sector=$2; shift 2 ;;
        --proof-type) type=$2; shift 2 ;;
        --backend) backend=$2; shift 2 ;;
        --tune) ntt=${2#ntt=}; shift 2 ;;
        --report) report=$2; shift 2 ;;
        --out | -o) out=$2; shift 2 ;;
        --api | --format | --insecure-seed | --sector-size | --seed | --statement) shift 2 ;;
        --test-params) shift; case ${1-} in -* | '') ;; *) shift ;; esac ;;
        --*) shift ;;
        *) file=$1; shift ;;
    esac
done

refuse() {
    echo "error[$2]: refused" >&2
    exit "$1"
}

. "$here/fault.sh"

case $command in
    fixture) cp "$here/c1.json" "$here/statement.json" "$out" ;;
    variants) cat "$here/variants.json" ;;
    prove)
        [ ! -d "$file" ] || refuse 2 input_unreadable
        # What this prover does not know, it refuses as the case beside it wants.
        if ! cmp -s "$file" "$here/c1.json"; then
            refuse 2 "$(sed -n 's/.*"error_kind": "\(.*\)".*/\1/p' "$(dirname "$file")/case.json")"
        fi
        case $type in *Winning*) refuse 2 unknown_proof_type ;; esac
        [ "$miner" = 1000 ] && [ "$sector" = 1 ] && [ -z "$type" ] || refuse 2 wrong_identity
        sed "s/BACKEND/$backend/; s/NTT/$ntt/" "$here/report.json" >"$report"
        cp "$here/proof.bin" "$out"
        ;;
    verify)
        [ "$(wc -c <"$file")" -eq 192 ] || refuse 2 proof_length
        cmp -s "$file" "$here/proof.bin" || refuse 1 proof_invalid
        ;;
esac
