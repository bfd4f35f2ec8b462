package warehouse

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/crypto/ssh"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// tunnel is the Network for a call whose target is reached through an SSH server. The rules of the network underneath
// apply to that server. It opens one connection to it, and a channel on it for each connection to the target.
type tunnel struct {
	Network
	to ports.Target

	mu     sync.Mutex
	client *ssh.Client
	wire   *Recorder // of client
}

func newTunnel(n Network, target ports.Target) *tunnel { return &tunnel{Network: n, to: target} }

// open passes the steps resolve, policy and connect: the first two for the SSH server, connect also for the target.
func (t *tunnel) open(ctx context.Context, host string, port uint16, trace *Trace) (*Recorder, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.client == nil {
		if err := t.connect(ctx, trace); err != nil {
			return nil, err
		}
	} else if trace != nil {
		trace.Passed(connection.Resolve)
		trace.Passed(connection.Policy)
	}
	dialCtx, cancel := context.WithTimeout(ctx, t.to.Limits.Connect)
	defer cancel()
	channel, err := t.client.DialContext(dialCtx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
	if err != nil {
		return nil, t.refused(ctx, err)
	}
	if trace != nil {
		trace.Passed(connection.Connect)
	}
	return Record(newChannelConn(channel, t.wire)), nil
}

// refused returns why the SSH server did not open a channel (RFC 4254, section 5.1).
func (t *tunnel) refused(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Canceled
	}
	refusal, ok := errors.AsType[*ssh.OpenChannelError](err)
	switch {
	case ok && refusal.Reason == ssh.Prohibited:
		return connection.SSHForwardingRefused
	case !ok && t.wire.Err() != nil: // the SSH server is gone
		return Classify(ctx, t.wire.Err())
	}
	return connection.SSHTargetUnreachable
}

// connect signs in to the SSH server. It passes the steps resolve and policy.
func (t *tunnel) connect(ctx context.Context, trace *Trace) error {
	c := t.to.Credential
	conn, err := dial(ctx, t.Network, c.Text(connection.FieldSSHHost), c.SSHPort(), trace)
	if err != nil {
		return err
	}
	wire := Record(conn)
	var isKnown atomic.Bool // whether the server has proved that it has its host key
	config, err := sshConfig(c, &isKnown)
	if err != nil {
		_ = wire.Close()
		return err
	}
	starting, cancel := context.WithTimeout(ctx, t.to.Limits.Connect)
	defer cancel()
	release := Limit(starting, wire)
	client, channels, requests, err := ssh.NewClientConn(wire, c.Text(connection.FieldSSHHost), config)
	if release(); err != nil {
		_ = wire.Close()
		return sshFailure(ctx, err, wire, isKnown.Load())
	}
	t.client, t.wire = ssh.NewClient(client, channels, requests), wire
	return nil
}

// sshConfig returns how to sign in to a credential's SSH server. It sets known when the server has shown the
// credential's host key.
func sshConfig(c connection.Credential, isKnown *atomic.Bool) (*ssh.ClientConfig, error) {
	hostKey, err := connection.ParseSSHPublicKey(c.Text(connection.FieldSSHHostKey))
	if err != nil {
		return nil, connection.SSHHostKeyMismatch
	}
	config := &ssh.ClientConfig{
		User:              c.Text(connection.FieldSSHUsername),
		HostKeyAlgorithms: []string{hostKey.Type},
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			if !bytes.Equal(key.Marshal(), hostKey.Wire) {
				return connection.SSHHostKeyMismatch
			}
			isKnown.Store(true)
			return nil
		},
	}
	if hostKey.Type == ssh.KeyAlgoRSA {
		config.HostKeyAlgorithms = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256} // RFC 8332, without SHA-1
	}
	if key := c.Secret(connection.FieldSSHPrivateKey); !key.IsZero() {
		signer, err := sshSigner(key.Reveal(), c.Secret(connection.FieldSSHPassphrase).Reveal())
		if err != nil {
			return nil, connection.SSHAuthFailed // without err, which may quote the key
		}
		config.Auth = append(config.Auth, ssh.PublicKeys(signer))
	}
	if password := c.Secret(connection.FieldSSHPassword); !password.IsZero() {
		config.Auth = append(config.Auth, ssh.Password(password.Reveal()))
	}
	return config, nil
}

func sshSigner(key, passphrase string) (ssh.Signer, error) {
	if passphrase == "" {
		return ssh.ParsePrivateKey([]byte(key))
	}
	return ssh.ParsePrivateKeyWithPassphrase([]byte(key), []byte(passphrase))
}

// sshFailure returns why no one was signed in. The library's errors are texts, so how far it came tells.
func sshFailure(ctx context.Context, err error, wire *Recorder, isKnown bool) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Canceled
	case errors.Is(err, connection.SSHHostKeyMismatch):
		return connection.SSHHostKeyMismatch
	case IsTimeout(wire.Err()), ctx.Err() != nil:
		return connection.ConnectTimeout
	case errors.Is(wire.Err(), connection.ResponseTooLarge):
		return connection.SSHUnsupported
	case isKnown:
		return connection.SSHAuthFailed
	case wire.Count() == 0 && wire.Ended():
		return connection.PortClosed
	}
	return connection.SSHUnsupported
}

func (t *tunnel) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.client != nil {
		_ = t.client.Close() // it only ends what is over
		_ = t.client.Wait()
	}
}

// channelConn is a connection through a channel. A channel of the library has no deadlines, so a pipe with deadlines
// is before it. Its errors are the errors of the connection to the SSH server, if that failed.
type channelConn struct {
	net.Conn
	channel net.Conn
	wire    *Recorder
}

func newChannelConn(channel net.Conn, wire *Recorder) *channelConn {
	local, far := net.Pipe()
	go func() {
		_, _ = io.Copy(far, channel) // an error is told by what is read from near
		_ = far.Close()
	}()
	go func() {
		_, _ = io.Copy(channel, far)
		_ = channel.Close()
	}()
	return &channelConn{Conn: local, channel: channel, wire: wire}
}

func (c *channelConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, c.explain(err)
}

func (c *channelConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, c.explain(err)
}

// explain returns an end of the pipe as what it is: of the connection to the SSH server, or of the channel.
func (c *channelConn) explain(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	if wireErr := c.wire.Err(); wireErr != nil {
		return wireErr
	}
	return io.EOF
}

func (c *channelConn) Close() error { return errors.Join(c.Conn.Close(), c.channel.Close()) }
