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
	mu    sync.Mutex
	all   map[*stream]bool
	asked bool // keepAsking runs, as long as any is open
}

// lookAfter ends s when its caller loses the permission, until done is called.
func (a *API) lookAfter(s *stream) (done func()) {
	o := &a.open
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[*stream]bool{}
	}
	if o.all[s] = true; !o.asked {
		o.asked = true
		go a.keepAsking()
	}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.all, s)
	}
}

// keepAsking checks the callers of all streams once a second, until no stream is open.
func (a *API) keepAsking() {
	check := time.NewTicker(streamCheck)
	defer check.Stop()
	for {
		select {
		case <-a.streams.Done():
			return
		case <-check.C:
		}
		byOrg := a.open.byOrg()
		if byOrg == nil {
			return
		}
		for org, streams := range byOrg {
			a.askFor(org, streams)
		}
	}
}

// byOrg returns the open streams by org. It returns nil if there is none; the caller must then stop checking.
func (o *openStreams) byOrg() map[identity.OrgID][]*stream {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) == 0 {
		o.asked = false
		return nil
	}
	out := map[identity.OrgID][]*stream{}
	for s := range o.all {
		out[s.by.Org] = append(out[s.by.Org], s)
	}
	return out
}

// askFor ends the streams of an org whose callers have lost the permission. An outage ends no stream.
func (a *API) askFor(id identity.OrgID, streams []*stream) {
	ctx, cancel := context.WithTimeout(a.streams, a.config.RequestTimeout)
	defer cancel()
	standing := make([]*account.Principal, len(streams))
	if org, ok := a.Orgs().ByID(id); ok {
		proofs := make([]account.Proof, len(streams))
		for i, s := range streams {
			proofs[i] = s.proof
		}
		var err error
		if standing, err = a.Services.Tickets.Standing(ctx, org, proofs, now()); err != nil {
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
		if who := standing[i]; who == nil || who.User.ID != s.by.User || who.User.Operator != s.by.Operator {
			s.end()
		}
	}
}
