package services

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// installed returns the path of a program in PATH. Where there is none, root on Debian installs the package that
// contains it, which may take minutes.
func installed(program, pkg string) (string, error) { return installedAny(pkg, program) }

// installedAny is installed for a program that has several names.
func installedAny(pkg string, programs ...string) (string, error) {
	if path := firstInPath(programs); path != "" {
		return path, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return "", errors.New("no " + programs[0] + " in PATH")
	}
	if out, err := install(installPackage, pkg); err != nil {
		return "", fmt.Errorf("apt-get install %s: %w\n%s", pkg, err, out[max(0, len(out)-2000):])
	}
	if path := firstInPath(programs); path != "" {
		return path, nil
	}
	return "", fmt.Errorf("apt-get installed %s, but there is no %s in PATH", pkg, programs[0])
}

// install runs a shell script that installs packages, and returns its output. Only one process of the machine does so
// at a time: apt-get update does not wait for another one, but fails.
func install(script string, args ...string) (out []byte, err error) {
	return runAlone("/run/lock/atrium-tests", "export DEBIAN_FRONTEND=noninteractive\n"+script, args...)
}

// runAlone runs a shell script while no other one runs with the same lock file.
func runAlone(lock, script string, args ...string) (out []byte, err error) {
	file, err := os.OpenFile(lock, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	return exec.Command("sh", append([]string{"-ec", script, "install"}, args...)...).CombinedOutput()
}

func firstInPath(programs []string) string {
	for _, program := range programs {
		if path, err := exec.LookPath(program); err == nil {
			return path
		}
	}
	return ""
}

// installPackage keeps services of the package from starting (policy-rc.d of Debian's invoke-rc.d).
const installPackage = `
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod +x $policy
	trap 'rm -f $policy' EXIT
fi
apt-get update
apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$1"
`
