#!/bin/sh
# Brings mfu-operator into a cluster without a network.
#
#   ./airgapped.sh save             on a machine that reaches the registry: writes images.tar beside this script
#   ./airgapped.sh load REGISTRY    on a machine that reaches yours: pushes the images there, prints how to install
#
# CONTAINER_TOOL names another program than docker that takes the same commands (podman, nerdctl).
set -eu
cd "$(dirname "$0")"
tool=${CONTAINER_TOOL:-docker}
case "${1:-} $#" in
"save 1")
  while read -r image; do "$tool" pull "$image"; done <images.txt
  # shellcheck disable=SC2046 # an image's name holds no blank
  "$tool" save -o images.tar $(cat images.txt)
  echo "images.tar is written: carry this folder over, then ./airgapped.sh load REGISTRY"
  ;;
"load 2")
  "$tool" load -i images.tar
  while read -r image; do
    here="$2/${image##*/}"
    "$tool" tag "$image" "$here"
    "$tool" push "$here"
  done <images.txt
  chart=$(echo mfu-operator-*.tgz)
  echo "helm install mfu-operator $chart -n mfu-system --create-namespace \\"
  echo "  --set image.repository=$2/mfu-operator --set profilerImage.repository=$2/mfu-profiler"
  ;;
*)
  sed -n '2,8s/^# \{0,1\}//p' "$0"
  exit 2
  ;;
esac
