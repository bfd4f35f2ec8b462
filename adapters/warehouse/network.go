package warehouse

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// Network opens guarded connections for one call. Refusals by its rules are connection.NetworkNotAllowed.
type Network interface {
	// Lookup returns a host's addresses that may be dialled.
	Lookup(ctx context.Context, host string, port uint16) ([]netip.AddrPort, error)
	// Dial connects to the first of them that accepts.
	Dial(ctx context.Context, addresses []netip.AddrPort) (net.Conn, error)
}

// Guard creates the network of one call to a target. The network stops working at end. A kind gets it as a parameter,
// since adapters do not import each other.
type Guard func(target ports.Target, end time.Time) Network

// Begin limits ctx to a target's total time, and creates the network of the call.
func (g Guard) Begin(ctx context.Context, target ports.Target) (context.Context, context.CancelFunc, Network) {
	end := time.Now().Add(target.Limits.Total)
	ctx, cancel := context.WithDeadline(ctx, end)
	n := g(target, end)
	if !target.Credential.HasTunnel() {
		return ctx, cancel, n
	}
	t := newTunnel(n, target)
	return ctx, func() { cancel(); t.close() }, t
}

// Open passes a call's first steps: resolve, policy and connect. The caller must close the connection.
func Open(ctx context.Context, n Network, target ports.Target, t *Trace) (*Recorder, error) {
	return OpenAt(ctx, n, target.Credential.Text(connection.FieldHost), target.Credential.Port(), t)
}

// OpenAt is Open for kinds whose credential names no host. t may be nil, for a second connection that is not
// part of the steps.
func OpenAt(ctx context.Context, n Network, host string, port uint16, t *Trace) (*Recorder, error) {
	if route, ok := n.(*tunnel); ok {
		return route.open(ctx, host, port, t)
	}
	conn, err := dial(ctx, n, host, port, t)
	if err != nil {
		return nil, err
	}
	if t != nil {
		t.Passed(connection.Connect)
	}
	return Record(conn), nil
}

// dial connects to a host through the rules of n. It passes the steps resolve and policy.
func dial(ctx context.Context, n Network, host string, port uint16, t *Trace) (net.Conn, error) {
	addresses, err := n.Lookup(ctx, host, port)
	if err != nil {
		return nil, Classify(ctx, err)
	}
	if t != nil {
		t.Passed(connection.Resolve)
		t.Passed(connection.Policy)
	}
	conn, err := n.Dial(ctx, addresses)
	return conn, Classify(ctx, err)
}
