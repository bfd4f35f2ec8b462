package connection_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const sshHostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1K7Bf0r5mLQ0eVJqzj2rD7x0p1s9f8yQw3v5u7t9Zk"

// tunnelled returns a credential through an SSH server, with some fields changed; nil removes a field.
func tunnelled(changes map[string]any) (connection.Credential, error) {
	fields := map[string]any{
		"host": "db.internal", "database": "shop", "username": "reader", "password": "p",
		"ssh_host": "bastion.example.com", "ssh_username": "tunnel", "ssh_host_key": sshHostKey,
		"ssh_password": "q",
	}
	for name, v := range changes {
		if fields[name] = v; v == nil {
			delete(fields, name)
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return connection.Credential{}, err
	}
	return connection.ParseCredential(connection.Postgres, text)
}

func TestFieldsOfATunnel(t *testing.T) {
	for name, tt := range map[string]struct {
		changes map[string]any
		wrong   []string
	}{
		"complete":              {nil, nil},
		"a line of ssh-keyscan": {map[string]any{"ssh_host_key": "bastion.example.com " + sshHostKey}, nil},
		"without a user and a key": {map[string]any{"ssh_username": nil, "ssh_host_key": nil},
			[]string{"ssh_username", "ssh_host_key"}},
		"without a secret":       {map[string]any{"ssh_password": nil}, []string{"ssh_private_key"}},
		"a passphrase of no key": {map[string]any{"ssh_passphrase": "x"}, []string{"ssh_passphrase"}},
		"a key that is none":     {map[string]any{"ssh_host_key": "ssh-ed25519 AAAA"}, []string{"ssh_host_key"}},
		"a key of another type": {map[string]any{"ssh_host_key": "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIJ1K"},
			[]string{"ssh_host_key"}},
		"fields of a server without one": {
			map[string]any{"ssh_host": nil, "ssh_port": 22, "ssh_host_key": nil, "ssh_username": nil},
			[]string{"ssh_port", "ssh_password"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tunnelled(tt.changes)
			wantWrong(t, err, tt.wrong)
		})
	}
	t.Run("kinds without servers of their own have none", func(t *testing.T) {
		_, err := connection.ParseCredential(connection.SQLite, []byte(`{"file": "a.db", "ssh_host": "b"}`))
		assert.ErrorIs(t, err, fault.ErrInvalid)
	})
}

func TestATunnelIsPartOfTheTarget(t *testing.T) {
	local, err := tunnelled(nil)
	require.NoError(t, err)
	for name, changes := range map[string]map[string]any{"another server": {"ssh_host": "other.example.com"},
		"another port": {"ssh_port": 2222}} {
		other, err := tunnelled(changes)
		require.NoError(t, err)
		if local.SameTarget(other) || local.Target("org") == other.Target("org") {
			t.Errorf("%s is the same target", name)
		}
	}
	same, err := tunnelled(map[string]any{"ssh_port": 22, "ssh_password": "r", "ssh_host": "BASTION.example.com"})
	if err != nil || !local.SameTarget(same) {
		t.Errorf("the default port is another target: %v", err)
	}
	if local.AllowsPort(5432) == false || local.AllowsPort(25) || !local.AllowsPort(22) || local.SSHPort() != 22 {
		t.Error("the port of an SSH server is 22, or one from 1024 on")
	}
}

func TestAFailureToReachATunnelIsAboutItsServer(t *testing.T) {
	c, err := tunnelled(nil)
	require.NoError(t, err)
	for code, want := range map[connection.Code][]string{
		connection.DNSFailed:            {"ssh_host", "ssh_port"},
		connection.ConnectTimeout:       {"ssh_host", "ssh_port", "host", "port"},
		connection.SSHTargetUnreachable: {"host", "port"},
		connection.SSHHostKeyMismatch:   {"ssh_host_key"},
		connection.AuthFailed:           {"username", "password"},
	} {
		trial := connection.Trial{Report: connection.FailedAt(connection.Connect, code), At: time.Unix(1, 0)}
		failedFault, ok := errors.AsType[*connection.ProbeError](trial.Failure(c))
		if !ok || !slices.Equal(failedFault.Failure.Fields, want) {
			t.Errorf("%s: fields %q, want %q", code, failedFault.Failure.Fields, want)
		}
	}
}
