package connection

import (
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
)

// The fields of a tunnel, which every kind has whose descriptor says "ssh".
const (
	FieldSSHHost       = "ssh_host"
	FieldSSHPort       = "ssh_port"
	FieldSSHUsername   = "ssh_username"
	FieldSSHHostKey    = "ssh_host_key"
	FieldSSHPrivateKey = "ssh_private_key"
	FieldSSHPassphrase = "ssh_passphrase"
	FieldSSHPassword   = "ssh_password"
)

// The codes of a tunnel's failures. They fail the step Connect.
const (
	SSHHostKeyMismatch   Code = "ssh_host_key_mismatch"
	SSHUnsupported       Code = "ssh_unsupported" // no SSH server, or it has no algorithm or key that Atrium accepts
	SSHAuthFailed        Code = "ssh_auth_failed"
	SSHForwardingRefused Code = "ssh_forwarding_refused"
	SSHTargetUnreachable Code = "ssh_target_unreachable" // from the SSH server
)

// The groups of a tunnel's fields.
const (
	sshServer about = "ssh_server"
	sshKey    about = "ssh_key"
	sshLogin  about = "ssh_login"
)

var sshFields = map[about][]string{
	sshServer: {FieldSSHHost, FieldSSHPort},
	sshKey:    {FieldSSHHostKey},
	sshLogin:  {FieldSSHUsername, FieldSSHPrivateKey, FieldSSHPassphrase, FieldSSHPassword},
}

// sshPort is the port of SSH servers (RFC 4253, section 4.1).
const sshPort = 22

//go:embed ssh.json
var sshProperties []byte

// HasTunnel reports whether the target is reached through an SSH server.
func (c Credential) HasTunnel() bool { return c.Text(FieldSSHHost) != "" }

// SSHPort returns the port of the SSH server; 0 if there is no tunnel.
func (c Credential) SSHPort() uint16 {
	if !c.HasTunnel() {
		return 0
	}
	if port := c.port(FieldSSHPort); port != 0 {
		return port
	}
	return sshPort
}

// AllowsPort reports whether Atrium may connect to a port for c: with a tunnel, an SSH server's port; else a port that
// servers of c's kind use; and TokenPort.
func (c Credential) AllowsPort(port uint16) bool {
	if port != 0 && port == c.TokenPort() {
		return true
	}
	if c.HasTunnel() {
		return port == sshPort || port >= 1024
	}
	d, ok := Describe(c.kind)
	return ok && d.AllowsPort(port)
}

// checkTunnel finds a tunnel's fields that are missing, or that there is no tunnel for.
func (c Credential) checkTunnel() (errs []fault.Field) {
	isSet := func(field string) bool { return c.Text(field) != "" || !c.secrets[field].IsZero() }
	note := func(field, code, detail string) {
		errs = append(errs, fault.Field{Pointer: "/credential/" + field, Code: code, Detail: detail})
	}
	if !c.HasTunnel() {
		for _, group := range []about{sshServer, sshKey, sshLogin} {
			for _, field := range sshFields[group] {
				if isSet(field) || c.config[field] != nil {
					note(field, "not_allowed_value", "Is only for connections with an ssh_host.")
				}
			}
		}
		return errs
	}
	for _, field := range []string{FieldSSHUsername, FieldSSHHostKey} {
		if !isSet(field) {
			note(field, "required", "Must be given with ssh_host.")
		}
	}
	if !isSet(FieldSSHPrivateKey) && !isSet(FieldSSHPassword) {
		note(FieldSSHPrivateKey, "required", "Give a private key or a password.")
	}
	if isSet(FieldSSHPassphrase) && !isSet(FieldSSHPrivateKey) {
		note(FieldSSHPassphrase, "not_allowed_value", "Is only for a private key.")
	}
	return errs
}

// sshKeyTypes are the types of host keys that Atrium accepts (RFC 8709, RFC 5656, RFC 4253).
var sshKeyTypes = []string{
	"ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa",
}

// SSHPublicKey is a public key as SSH sends it.
type SSHPublicKey struct {
	Type string
	Wire []byte // RFC 4253, section 6.6
}

// ParseSSHPublicKey reads a line from a .pub file, or from ssh-keyscan, which has the host before the key.
func ParseSSHPublicKey(text string) (SSHPublicKey, error) {
	fields := strings.Fields(text)
	for i, name := range fields[:min(len(fields), 2)] {
		if !slices.Contains(sshKeyTypes, name) || i+1 == len(fields) {
			continue
		}
		wire, err := base64.StdEncoding.DecodeString(fields[i+1])
		if err != nil || len(wire) < 4+len(name) || int(binary.BigEndian.Uint32(wire)) != len(name) ||
			string(wire[4:4+len(name)]) != name {
			break
		}
		return SSHPublicKey{Type: name, Wire: wire}, nil
	}
	return SSHPublicKey{}, errors.New("not the public key of an SSH server")
}

// sameTunnel reports whether two configurations have the same SSH server.
func sameTunnel(a, b map[string]any) bool {
	one, other := Credential{config: a}, Credential{config: b}
	return strings.EqualFold(one.Text(FieldSSHHost), other.Text(FieldSSHHost)) && one.SSHPort() == other.SSHPort()
}

// failureIn is failureOf for a connection with a configuration. With a tunnel, it is the SSH server that Atrium
// resolves and connects to.
func (k Kind) failureIn(
	config map[string]any, secrets []string, checks []Check, code Code, now time.Time,
) Failure {
	f := k.failureOf(checks, code, now).withTokens(Credential{kind: k, config: config}, secrets).
		withConsent(config)
	if !(Credential{config: config}).HasTunnel() {
		return f
	}
	switch code {
	case NetworkNotAllowed, DNSFailed, PortClosed, HostUnreachable:
		f.Fields = sshFields[sshServer]
	case ConnectTimeout:
		f.Fields = slices.Concat(sshFields[sshServer], f.Fields)
	}
	return f
}
