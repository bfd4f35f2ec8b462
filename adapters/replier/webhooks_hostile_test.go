package replier_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/replier"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// counted serves on l, and counts the connections that reach it.
func counted(t *testing.T, l net.Listener) (port uint16, reachedCount *atomic.Int64) {
	t.Helper()
	reachedCount = &atomic.Int64{}
	s := &httptest.Server{Listener: l, Config: &http.Server{ReadHeaderTimeout: proof.Patience,
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				reachedCount.Add(1)
			}
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		})}}
	s.Start()
	t.Cleanup(s.Close)
	return l.Addr().(*net.TCPAddr).AddrPort().Port(), reachedCount
}

// guardedBy allows networks of the target, with names that mean what resolve says.
func guardedBy(resolve func() []netip.Addr) replier.Guard {
	return func(target ports.Target, end time.Time, limit int64) replier.Network {
		return egress.New(egress.Rules{Allow: target.Egress.Allow, Port: func(uint16) bool { return true },
			Connect: proof.Patience, Deadline: end, Bytes: limit,
			Resolve: func(context.Context, string) ([]netip.Addr, error) { return resolve(), nil }})
	}
}

func TestNoURLOfAWebhookReachesAForbiddenAddress(t *testing.T) {
	r := rand.New(rand.NewPCG(proof.Seed(t), 1))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port, reachedCount := counted(t, l)
	sender := replier.NewWebhooks(guardedBy(func() []netip.Addr {
		return []netip.Addr{fixture.ForbiddenAddress(r), netip.AddrFrom16(fixture.ForbiddenAddress(r).As16())}
	}))
	refusals := 0
	for range proof.Sample(100, 500) {
		to := url.URL{Scheme: "http", Host: net.JoinHostPort(fixture.HostTrick(r, port), fmt.Sprint(port)), Path: "/x"}
		out := sender.Send(t.Context(), ports.WebhookTarget{URL: to.String()}, &webhook.Delivery{}, time.Now())
		if out.Failure == "" || out.Status != 0 {
			t.Errorf("%q: %+v", to.String(), out)
		}
		if out.Failure == "network_not_allowed" {
			refusals++
		}
	}
	if reachedCount.Load() != 0 || refusals == 0 {
		t.Errorf("%d connections; %d were refused as such", reachedCount.Load(), refusals)
	}
}

func TestANameThatMeansAnotherAddressTheNextTimeReachesNoForbiddenOne(t *testing.T) {
	r := rand.New(rand.NewPCG(proof.Seed(t), 2))
	atFirst, next := fixture.ListenersOnOnePort(t)
	port, forbidden := counted(t, atFirst)
	_, allowedCount := counted(t, next)
	public, private := netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1")
	answers := [][]netip.Addr{{public}, {private}, {public, private}, {private, public}}
	sender := replier.NewWebhooks(guardedBy(func() []netip.Addr { return answers[r.IntN(len(answers))] }))
	target := ports.WebhookTarget{URL: fmt.Sprintf("http://rebinding.example.com:%d/x", port),
		Egress: identity.Egress{Allow: []netip.Prefix{netip.PrefixFrom(public, 32)}}}
	deliveries := 0
	for range proof.Sample(100, 1000) {
		if sender.Send(t.Context(), target, &webhook.Delivery{}, time.Now()).Delivered() {
			deliveries++
		}
	}
	if forbidden.Load() != 0 || deliveries == 0 || allowedCount.Load() == 0 {
		t.Errorf("%d connections to the forbidden address, %d deliveries", forbidden.Load(), deliveries)
	}
}
