package events

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestStreamsOfOneCallerThatReadALongTrailTakeTurns(t *testing.T) {
	const trail, part, streams, turns = 5000, 100, 19, 4
	synctest.Test(t, func(t *testing.T) {
		var reading, limit atomic.Int64
		mock := gomock.NewController(t)
		events := mocks.NewMockEvents(mock)
		events.EXPECT().Feed(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
			func(_ context.Context, _ identity.OrgID, _ identity.WorkspaceID, q event.FeedQuery) (event.Feed, error) {
				if q.After > 0 {
					limit.Store(max(limit.Load(), reading.Add(1)))
					defer reading.Add(-1)
				}
				time.Sleep(10 * time.Millisecond)
				return event.Feed{First: 1, Last: q.After + part, More: q.After+part < trail}, nil
			})
		stores := ports.Stores{
			Events:        events,
			AccountStores: ports.AccountStores{Keys: mocks.NewMockKeys(mock)},
			SessionStores: ports.SessionStores{Sessions: mocks.NewMockSessions(mock)},
		}
		services := application.NewBind(stores, application.External{
			Clock: server.Now, Quotas: func(identity.OrgID) quota.Amounts { return quota.Default() },
			Terms: func(identity.OrgID) payments.Terms { return payments.Terms{} },
		})(stores)
		a := server.New(nil, server.Config{
			Concurrency: server.Concurrency{PerCaller: turns, PerWorkspace: 5, Wait: time.Second},
		}, server.Deps{Metrics: prometheus.NewRegistry()})
		by := identity.Actor{Org: "org_1", User: "usr_1", Workspace: "wsp_1", Role: identity.Member}
		for range streams {
			go func() {
				hr := httptest.NewRequest(http.MethodGet, StreamPath, nil)
				r := &server.Call{
					Request: server.WithObservation(hr, &server.Observation{}), API: a, Services: services, By: by,
				}
				w := httptest.NewRecorder()
				s := &followedEvents{query: event.FeedQuery{Limit: part}, Stream: server.NewStream(t.Context(), r, w)}
				for s.query.After < trail {
					if !s.send() {
						t.Error("the stream ended")
						return
					}
					time.Sleep(eventStreamPoll)
				}
			}()
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, "streams read at the same time", limit.Load(), turns)
	})
}
