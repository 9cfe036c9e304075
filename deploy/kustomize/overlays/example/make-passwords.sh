#!/bin/sh
# Make the passwords of the bus's users in passwords/, each a file for kustomize; those that are there are kept.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p passwords
for user in labeler validator resolver detectors reader operator; do
    [ -s "passwords/$user.env" ] && continue
    # 192 random bits behind a letter: nats-server would take a variable of digits for a number.
    bits=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
    printf 'password=p%s\n' "$bits" >"passwords/$user.env"
    echo "made passwords/$user.env"
done
