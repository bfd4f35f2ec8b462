package services

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// installed returns the path of a program in PATH. Where there is none, root on Debian installs the
// package that holds it, which may take minutes.
func installed(program, pkg string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return "", errors.New("no " + program + " in PATH")
	}
	if out, err := exec.Command("sh", "-ec", installPackage, "sh", pkg).CombinedOutput(); err != nil {
		return "", fmt.Errorf("apt-get install %s: %w\n%s", pkg, err, out[max(0, len(out)-2000):])
	}
	return exec.LookPath(program)
}

// installPackage keeps services of the package from starting (policy-rc.d of Debian's invoke-rc.d).
const installPackage = `
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod +x $policy
	trap 'rm -f $policy' EXIT
fi
apt-get update
apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$1"
`
