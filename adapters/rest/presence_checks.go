package rest

import (
	"context"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// streamCheck is the interval at which the permissions of open streams' callers are checked.
const streamCheck = time.Second

// openStreams are the open streams of the node. All of their callers are checked in one look-up: one for each
// stream would be thousands per second, with hardly any change found.
type openStreams struct {
	mu       sync.Mutex
	all      map[*sseStream]bool
	checking bool // recheckLoop runs, as long as any is open
}

// trackStream ends s when its caller loses the permission, until done is called.
func (a *API) trackStream(s *sseStream) (done func()) {
	o := &a.openStreams
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[*sseStream]bool{}
	}
	if o.all[s] = true; !o.checking {
		o.checking = true
		go a.recheckLoop()
	}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.all, s)
	}
}

// recheckLoop checks the callers of all streams once a second, until no stream is open.
func (a *API) recheckLoop() {
	check := time.NewTicker(streamCheck)
	defer check.Stop()
	for {
		select {
		case <-a.streams.Done():
			return
		case <-check.C:
		}
		byOrg := a.openStreams.byOrg()
		if byOrg == nil {
			return
		}
		if err := a.Services.Seats.Keep(a.streams, a.now()); err != nil && a.streams.Err() == nil {
			a.Log.WarnContext(a.streams, "the node could not store that it is alive; it tries again", "error", err)
		}
		for org, streams := range byOrg {
			a.recheckOrg(org, streams)
		}
	}
}

// count returns how many streams are open.
func (o *openStreams) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.all)
}

// byOrg returns the open streams by org. It returns nil if there is none; the caller must then stop checking.
func (o *openStreams) byOrg() map[identity.OrgID][]*sseStream {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) == 0 {
		o.checking = false
		return nil
	}
	out := map[identity.OrgID][]*sseStream{}
	for s := range o.all {
		out[s.by.Org] = append(out[s.by.Org], s)
	}
	return out
}

// recheckOrg ends the streams of an org whose callers have lost the permission. An outage ends no stream.
func (a *API) recheckOrg(id identity.OrgID, streams []*sseStream) {
	ctx, cancel := context.WithTimeout(a.streams, a.config.RequestTimeout)
	defer cancel()
	principals := make([]*account.Principal, len(streams))
	if org, ok := a.Orgs().ByID(id); ok {
		proofs := make([]account.Proof, len(streams))
		for i, s := range streams {
			proofs[i] = s.proof
		}
		var err error
		if principals, err = a.Services.Tickets.ResolveProofs(ctx, org, proofs, a.now()); err != nil {
			if a.streams.Err() == nil {
				a.Log.WarnContext(
					ctx, "the callers of streams were not asked for; it is tried again", "streams", len(streams),
					"error", err,
				)
			}
			return
		}
	}
	for i, s := range streams {
		p := principals[i]
		if p == nil || p.User.ID != s.by.User || p.User.Operator != s.by.Operator {
			s.end()
		}
	}
}
