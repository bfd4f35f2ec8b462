package services

import (
	"fmt"
	"testing"
)

// sshScript keeps an SSH server. The folder of privileges is OpenSSH's, and only root needs it.
const sshScript = `
end=KILL
prepare() {
	ssh-keygen -q -t ed25519 -N "" -f key </dev/null
	[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
}
serve() { exec "$1" -D -e -f /dev/null -p "$port" -o ListenAddress=127.0.0.1 -o HostKey="$folder/key" -o PidFile=none; }
`

// SSH starts an OpenSSH server, which ends with the test, and returns the address at which it listens.
func SSH(t testing.TB) (address string) {
	t.Helper()
	server, err := startSSH()
	if err != nil {
		t.Fatalf("this test needs an SSH server: %v\nInstall it (Debian: apt-get install openssh-server).", err)
	}
	t.Cleanup(server.Stop)
	return server.URL
}

func startSSH() (*Server, error) {
	bin, err := installed("/usr/sbin/sshd", "openssh-server") // it wants to be called by its whole path
	if err != nil {
		return nil, err
	}
	p := program{
		name: "ssh", script: sshScript, args: []string{bin},
		url:   func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) },
		ready: accepts,
	}
	return p.start()
}
