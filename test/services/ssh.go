package services

import (
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"net/netip"
	"os"
	"os/user"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// sshScript keeps an SSH server. The folder of privileges is OpenSSH's, and only root needs it. By default, OpenSSH
// refuses some connections while ten have not signed in yet.
const sshScript = `
end=KILL
prepare() {
	[ -f key ] || ssh-keygen -q -t ed25519 -N "" -f key </dev/null
	[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
}
serve() {
	exec "$1" -D -e -f /dev/null -p "$port" -o ListenAddress=127.0.0.1 -o HostKey="$folder/key" -o PidFile=none \
		-o AuthorizedKeysFile="$folder/authorized" -o StrictModes=no -o MaxStartups=100
}
`

// SSH starts an OpenSSH server, which ends with the test, and returns the address at which it listens.
func SSH(t testing.TB) (address string) {
	t.Helper()
	server, err := startSSH(nil)
	if err != nil {
		t.Fatalf("this test needs an SSH server: %v\nInstall it (Debian: apt-get install openssh-server).", err)
	}
	t.Cleanup(server.Stop)
	return server.URL
}

// SSHPassphrase is the passphrase of SSHForwarder.LockedKey.
const SSHPassphrase = "c4n4ry-pa55phrase"

// SSHForwarder is an SSH server, and who may forward connections through it.
type SSHForwarder struct {
	Port     uint16 // of 127.0.0.1
	HostKey  string // a line of a .pub file
	Username string

	Key       string // private keys in PEM
	LockedKey string // with SSHPassphrase
	IdleKey   string // of a user who may sign in, and not forward
	Stranger  string // of no user
}

// SSHForwarding starts an OpenSSH server with a user, which ends with the test.
func SSHForwarding(t testing.TB) SSHForwarder {
	t.Helper()
	_, host, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	f := SSHForwarder{HostKey: sshPublic(t, host)}
	files := map[string]string{"key": sshPrivate(t, host, "")}
	for _, k := range []struct {
		into                *string
		passphrase, options string
	}{{&f.Key, "", ""}, {&f.LockedKey, SSHPassphrase, ""}, {&f.IdleKey, "", "no-port-forwarding "},
		{&f.Stranger, "", "#"}} {
		_, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		*k.into = sshPrivate(t, key, k.passphrase)
		files["authorized"] += k.options + sshPublic(t, key) + "\n"
	}
	server, err := startSSH(files)
	if err != nil {
		t.Fatalf("this test needs an SSH server: %v\nInstall it (Debian: apt-get install openssh-server).", err)
	}
	t.Cleanup(server.Stop)
	address, err := netip.ParseAddrPort(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	f.Port = address.Port()
	if f.Username, err = sshUsername(); err != nil { // a server without rights signs in no one else
		t.Fatal(err)
	}
	return f
}

// sshUsername returns the user that servers run as.
func sshUsername() (string, error) {
	uid := strconv.Itoa(os.Getuid())
	if uid == "0" {
		c, err := unprivileged()
		if err != nil {
			return "", err
		}
		uid = strconv.Itoa(int(c.Uid))
	}
	u, err := user.LookupId(uid)
	if err != nil {
		return "", err
	}
	return u.Username, nil
}

func sshPrivate(t testing.TB, key ed25519.PrivateKey, passphrase string) string {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block))
}

func sshPublic(t testing.TB, key ed25519.PrivateKey) string {
	t.Helper()
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public)))
}

func startSSH(files map[string]string) (*Server, error) {
	bin, err := installed("/usr/sbin/sshd", "openssh-server") // it wants to be called by its whole path
	if err != nil {
		return nil, err
	}
	p := program{
		name: "ssh", script: sshScript, args: []string{bin}, files: files,
		url:   func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) },
		ready: accepts,
	}
	return p.start()
}
