package presences_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/atrium-hq/atrium/application/presences"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/ports"
)

// stored is a store that accepts everything, so that only the registry is measured.
type stored struct{ ports.Presences }

func (stored) Update(_ context.Context, org identity.OrgID, users []identity.UserID,
	change func(*presence.Record) error) ([]*presence.Record, error) {
	out := make([]*presence.Record, len(users))
	for i, user := range users {
		out[i] = presence.New(org, user, presence.ID(id.New(presence.Prefix)))
		if err := change(out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// register brings n people online, each with one device.
func register(b *testing.B, n int) (*presences.Service, []identity.Actor) {
	b.Helper()
	s, people := presences.NewService(stored{}, now, nil), make([]identity.Actor, n)
	for i := range people {
		people[i] = person(identity.UserID(id.New("usr")))
		if _, _, err := s.Beat(b.Context(), people[i], beat(fmt.Sprint("web-", i))); err != nil {
			b.Fatal(err)
		}
	}
	return s, people
}

// BenchmarkHeartbeat measures a heartbeat without a visible change.
func BenchmarkHeartbeat(b *testing.B) {
	s, people := register(b, 100_000)
	beats := make([]presence.Heartbeat, len(people))
	for i := range beats {
		beats[i] = beat(fmt.Sprint("web-", i))
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for i := 0; p.Next(); i++ {
			if _, _, err := s.Beat(b.Context(), people[i%len(people)], beats[i%len(people)]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkMemory reports how many bytes an online user takes, out of a million.
func BenchmarkMemory(b *testing.B) {
	const online = 1_000_000
	var previous, current runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&previous)
	s, _ := register(b, online)
	runtime.GC()
	runtime.ReadMemStats(&current)
	b.ReportMetric(float64(current.HeapAlloc-previous.HeapAlloc)/online, "B/user")
	b.ReportMetric(0, "ns/op")
	runtime.KeepAlive(s)
}
