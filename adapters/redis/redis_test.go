package redis

import (
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

func signals(t *testing.T, url string) ports.PresenceSignals {
	t.Helper()
	s, closeAll, err := New(Config{URL: secret.New(url)})
	require.NoError(t, err)
	t.Cleanup(closeAll)
	s.patience = proof.Patience // a busy machine may need longer than a node would wait
	return s
}

func TestSignals(t *testing.T) {
	server := services.Redis(t)
	contract.PresenceSignals(t, func() ports.PresenceSignals { return signals(t, server.URL) })
}

func TestAServerThatComesBackIsHeardAgain(t *testing.T) {
	server := services.Redis(t)
	s, heard := signals(t, server.URL), make(chan identity.OrgID, 100)
	go func() { _ = s.Listen(t.Context(), func(org identity.OrgID) { heard <- org }) }()
	await := func(want identity.OrgID) {
		t.Helper()
		for late := time.After(proof.Patience); ; {
			select {
			case got := <-heard:
				if got == want {
					return
				}
			case <-late:
				t.Fatalf("nothing was heard of %q", want)
			}
		}
	}
	await("")
	server.Stop()
	start := time.Now()
	if err := s.Announce(t.Context(), "org"); err == nil {
		t.Error("a server that is gone took a signal")
	}
	proof.Within(t, "finding out", time.Since(start), time.Second)
	require.NoError(t, server.Restart())
	await("")
	require.NoError(t, s.Announce(t.Context(), "org"))
	await("org")
}

func TestURLsThatAreNone(t *testing.T) {
	for _, url := range []string{"http://user:hunter2@host", "redis://user:hunter2@host:port",
		"redis://user:hunter2%zz@host", "redis://user:hunter2@host/x"} {
		said := ""
		Config{URL: secret.New(url)}.Check(func(key, reason string) { said = key + ": " + reason })
		_, _, err := New(Config{URL: secret.New(url)})
		if said == "" || err == nil || strings.Contains(said+err.Error(), "hunter2") {
			t.Errorf("%s: %q, %v", url, said, err)
		}
	}
	Config{}.Check(func(key, reason string) { t.Errorf("without one: %s %s", key, reason) })
	Config{URL: secret.New("rediss://user:pass@host:6380/1")}.Check(func(key, reason string) {
		t.Errorf("a good one: %s %s", key, reason)
	})
}
