package services

import (
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/atrium-hq/atrium/test/support/require"
)

const sshd = "/usr/sbin/sshd" // it wants to be called by its whole path

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
	require.NoError(t, err)
	f := SSHForwarder{HostKey: sshPublic(t, host)}
	files := map[string]string{"key": sshPrivate(t, host)}
	for options, target := range map[string]*string{"": &f.Key, "no-port-forwarding ": &f.IdleKey, "#": &f.Stranger} {
		_, key, err := ed25519.GenerateKey(nil)
		require.NoError(t, err)
		*target = sshPrivate(t, key)
		files["authorized"] += options + sshPublic(t, key) + "\n"
	}
	lockedCase, err := lockedSSHKey()
	if err != nil {
		t.Fatalf("this test needs ssh-keygen: %v", err)
	}
	f.LockedKey = lockedCase.private
	files["authorized"] += lockedCase.public
	server, err := startSSH(files)
	if err != nil {
		t.Fatalf("this test needs an SSH server: %v\nInstall it (Debian: apt-get install openssh-server).", err)
	}
	t.Cleanup(server.Stop)
	address, err := netip.ParseAddrPort(server.URL)
	require.NoError(t, err)
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

// lockedSSHKey is a key with SSHPassphrase, as OpenSSH writes it. It has one round of bcrypt. With as many as usual,
// each try of a passphrase takes 0.1 s of CPU time.
var lockedSSHKey = sync.OnceValues(func() (key struct{ private, public string }, err error) {
	if _, err := installed(sshd, "openssh-server"); err != nil { // which depends on OpenSSH's client
		return key, err
	}
	folder, err := os.MkdirTemp("", "ssh-")
	if err != nil {
		return key, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-a", "1", "-N", SSHPassphrase, "-C", "",
		"-f", file).CombinedOutput(); err != nil {
		return key, fmt.Errorf("%w: %s", err, out)
	}
	for name, target := range map[string]*string{file: &key.private, file + ".pub": &key.public} {
		text, err := os.ReadFile(name)
		if err != nil {
			return key, err
		}
		*target = string(text)
	}
	return key, nil
})

func sshPrivate(t testing.TB, key ed25519.PrivateKey) string {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "")
	require.NoError(t, err)
	return string(pem.EncodeToMemory(block))
}

func sshPublic(t testing.TB, key ed25519.PrivateKey) string {
	t.Helper()
	public, err := ssh.NewPublicKey(key.Public())
	require.NoError(t, err)
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public)))
}

func startSSH(files map[string]string) (*Server, error) {
	bin, err := installed(sshd, "openssh-server")
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
