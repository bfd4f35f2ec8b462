package rest

import (
	"context"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// streamCheck is how often it is asked whether the callers of streams still may.
const streamCheck = time.Second

// openStreams are the open streams of the node. It is asked for all of their callers at once: a look-up
// for each would be thousands a second, of which nearly none says anything new.
type openStreams struct {
	mu    sync.Mutex
	all   map[*stream]bool
	asked bool // somebody asks, as long as any is open
}

// lookAfter ends s when its caller may no more, until done is called.
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

// keepAsking asks for all streams once a second, until there is none or all of them end.
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

// byOrg is every open stream. If it is nil there is none, and nobody asks from now on.
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

// askFor ends those streams of an org whose callers may no more. An outage ends nobody's stream.
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
		if standing, err = a.services.Tickets.Standing(ctx, org, proofs, now()); err != nil {
			if a.streams.Err() == nil {
				a.Log.WarnContext(ctx, "the callers of streams were not asked for; it is tried again", "streams", len(streams), "error", err)
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
