// Package egress opens connections to hosts that tenants name. All such connections go through it. It checks the
// address, not the name, at the moment of dialling.
package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
)

// maxAddresses is how many addresses for a name are tried.
const maxAddresses = 4

// Rules limit where a Dialer connects and how much it reads.
type Rules struct {
	Allow    []netip.Prefix         // networks beyond the public internet
	Port     func(port uint16) bool // whether a port may be dialled
	Connect  time.Duration          // for looking a name up, and again for connecting to its addresses
	Deadline time.Time              // ends everything, even if later deadlines are set
	Bytes    int64                  // read on all connections together; then ResponseTooLarge

	// Resolve looks a name up; nil is the DNS. Its answers are checked like the DNS's.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
}

// Dialer opens guarded connections for one piece of work. Every refusal is connection.NetworkNotAllowed, before a
// socket is opened; it does not reveal which rule refused, or what is at the address. It uses no proxy, and reads no
// environment.
type Dialer struct {
	rules  Rules
	left   atomic.Int64                 // bytes that may still be read
	dialed func(address netip.AddrPort) // called with addresses that the control hook allowed; only for tests
}

// New returns a Dialer.
func New(rules Rules) *Dialer {
	if rules.Resolve == nil {
		rules.Resolve = lookUp
	}
	d := &Dialer{rules: rules}
	d.left.Store(rules.Bytes)
	return d
}

// lookUp uses Go's resolver, which does not accept other spellings of addresses.
func lookUp(ctx context.Context, name string) ([]netip.Addr, error) {
	r := net.Resolver{PreferGo: true}
	return r.LookupNetIP(ctx, "ip", name)
}

// Lookup returns a host's addresses that may be dialled. Errors are NetworkNotAllowed, a *net.DNSError, or the
// context's.
//
// Internal names and literal addresses are allowed only if the rules allow networks beyond the public ones. For an
// internal name, the error does not reveal whether it exists.
func (d *Dialer) Lookup(ctx context.Context, name string, port uint16) ([]netip.AddrPort, error) {
	h, err := parseHost(name)
	if err != nil {
		return nil, err
	}
	if !d.rules.Port(port) || (h.internal && len(d.rules.Allow) == 0) {
		return nil, connection.NetworkNotAllowed
	}
	if h.literal.IsValid() {
		if !d.allowsNetwork(h.literal) {
			return nil, connection.NetworkNotAllowed
		}
		return []netip.AddrPort{netip.AddrPortFrom(h.literal, port)}, nil
	}
	ctx, cancel := d.withDeadline(ctx)
	defer cancel()
	hostname := h.name
	if len(d.rules.Allow) == 0 {
		hostname += "." // fully qualified: the machine's hosts file and search list have no effect
	}
	found, err := d.rules.Resolve(ctx, hostname)
	if err != nil {
		if h.internal {
			return nil, connection.NetworkNotAllowed
		}
		return nil, err
	}
	var addresses []netip.AddrPort
	for _, a := range found {
		a = a.Unmap()
		if d.allowsNetwork(a) || (isPublic(a) && !h.internal) {
			addresses = append(addresses, netip.AddrPortFrom(a, port))
		}
	}
	if len(addresses) == 0 {
		return nil, connection.NetworkNotAllowed
	}
	// Not every machine with an IPv6 address has a working IPv6 network.
	slices.SortStableFunc(addresses, func(a, b netip.AddrPort) int { return a.Addr().BitLen() - b.Addr().BitLen() })
	return addresses[:min(len(addresses), maxAddresses)], nil
}

// Dial connects to the first of the addresses that accepts, in turn. Each is checked again.
func (d *Dialer) Dial(ctx context.Context, addresses []netip.AddrPort) (net.Conn, error) {
	ctx, cancel := d.withDeadline(ctx)
	defer cancel()
	end, _ := ctx.Deadline()
	first := error(connection.NetworkNotAllowed) // without any address
	for i, a := range addresses {
		c, err := d.dial(ctx, a, time.Until(end)/time.Duration(len(addresses)-i))
		if err == nil {
			return c, nil
		}
		if i == 0 {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

func (d *Dialer) dial(ctx context.Context, a netip.AddrPort, timeout time.Duration) (net.Conn, error) {
	dialer := net.Dialer{Timeout: timeout, ControlContext: d.control}
	c, err := dialer.DialContext(ctx, "tcp", a.String())
	if err != nil {
		return nil, err
	}
	g := &conn{Conn: c, dialer: d}
	if err := g.SetDeadline(time.Time{}); err != nil {
		_ = c.Close() // it was never used
		return nil, err
	}
	return g, nil
}

// control is called with the address that the socket is about to connect to.
func (d *Dialer) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil || (network != "tcp4" && network != "tcp6") || !d.rules.Port(a.Port()) {
		return connection.NetworkNotAllowed
	}
	if !d.allowsNetwork(a.Addr()) && !isPublic(a.Addr()) {
		return connection.NetworkNotAllowed
	}
	if d.dialed != nil {
		d.dialed(a)
	}
	return nil
}

// DialContext is Lookup and Dial with the signature of net.Dialer's DialContext; network is "tcp".
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" {
		return nil, connection.NetworkNotAllowed
	}
	name, port, err := splitHostPort(address)
	if err != nil {
		return nil, err
	}
	addresses, err := d.Lookup(ctx, name, port)
	if err != nil {
		return nil, err
	}
	return d.Dial(ctx, addresses)
}

func splitHostPort(address string) (string, uint16, error) {
	name, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, connection.NetworkNotAllowed
	}
	// The address is not needed. Its parser accepts only numbers from 0 to 65535, and no names of services.
	port, err := netip.ParseAddrPort("0.0.0.0:" + text)
	if err != nil {
		return "", 0, connection.NetworkNotAllowed
	}
	return name, port.Port(), nil
}

func (d *Dialer) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	end := time.Now().Add(d.rules.Connect)
	if d.rules.Deadline.Before(end) {
		end = d.rules.Deadline
	}
	return context.WithDeadline(ctx, end)
}

// allowsNetwork reports whether the rules allow an address by name of its network.
func (d *Dialer) allowsNetwork(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	return slices.ContainsFunc(d.rules.Allow, func(p netip.Prefix) bool { return p.Contains(a) })
}

// conn is a connection that ends at the rules' deadline, and reads at most their bytes.
type conn struct {
	net.Conn
	dialer *Dialer
}

func (c *conn) Read(b []byte) (int, error) {
	remaining := c.dialer.left.Load()
	if remaining < 0 {
		return 0, connection.ResponseTooLarge
	}
	// Reading one byte more than is left distinguishes the end from too much data.
	n, err := c.Conn.Read(b[:min(int64(len(b)), remaining+1)])
	if c.dialer.left.Add(-int64(n)) < 0 {
		return 0, errors.Join(connection.ResponseTooLarge, c.Close())
	}
	return n, err
}

// Write returns connection.ResponseTooLarge if a concurrent Read has closed the connection for that reason: pgx reads
// in the background while a write is slow, and would otherwise report only that the connection is closed.
func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil && c.dialer.left.Load() < 0 {
		return n, connection.ResponseTooLarge
	}
	return n, err
}

func (c *conn) SetDeadline(t time.Time) error { return c.Conn.SetDeadline(c.dialer.capDeadline(t)) }
func (c *conn) SetReadDeadline(t time.Time) error {
	return c.Conn.SetReadDeadline(c.dialer.capDeadline(t))
}
func (c *conn) SetWriteDeadline(t time.Time) error {
	return c.Conn.SetWriteDeadline(c.dialer.capDeadline(t))
}

func (d *Dialer) capDeadline(t time.Time) time.Time {
	if t.IsZero() || t.After(d.rules.Deadline) {
		return d.rules.Deadline
	}
	return t
}
