package embeds

import (
	"context"
	"sync"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/embed"
)

const (
	// visitsPerMinute is how many requests all visitors of one token may make per minute, and how many preflights one
	// address.
	visitsPerMinute = 600

	// visitsPerWorkspace is how many requests all of a workspace's visitors may make per minute, however many tokens it
	// has.
	visitsPerWorkspace = 3000
)

// visitLimits counts the calls of visitors: of all of them by token and by workspace, and of each and of each address
// as often as their token allows.
type visitLimits struct {
	tokens     *server.Limiter
	workspaces *server.Limiter

	mu     sync.Mutex
	others map[int]*server.Limiter // by calls a minute: what a token allows may change
}

func newVisitLimits() *visitLimits {
	return &visitLimits{
		tokens:     server.NewLimiter(visitsPerMinute, visitsPerMinute),
		workspaces: server.NewLimiter(visitsPerWorkspace, visitsPerWorkspace),
		others:     map[int]*server.Limiter{},
	}
}

func (l *visitLimits) allowing(perMinute int) *server.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.others[perMinute] == nil {
		l.others[perMinute] = server.NewLimiter(perMinute, perMinute)
	}
	return l.others[perMinute]
}

// How many replies may be running at the same time.
const (
	answersPerVisitor   = 3    // of one token
	answersPerAddress   = 18   // of one token, for its visitors that are not signed
	answersPerToken     = 100  // on one node, as those below
	answersPerWorkspace = 250  // which can have any number of tokens, and an endpoint that never ends a reply
	answersPerOrg       = 750  // since one person can have 20 workspaces
	answersPerNode      = 1000 // a reply needs some 100 KiB
)

// answerGates limit the concurrent replies. No one waits for a slot: a reply takes too long.
type answerGates struct{ visitors, addresses, tokens, workspaces, orgs, node *server.Gate }

func newAnswerGates() answerGates {
	return answerGates{
		visitors:   server.NewGate(answersPerVisitor),
		addresses:  server.NewGate(answersPerAddress),
		tokens:     server.NewGate(answersPerToken),
		workspaces: server.NewGate(answersPerWorkspace),
		orgs:       server.NewGate(answersPerOrg),
		node:       server.NewGate(answersPerNode),
	}
}

// enter reserves a slot for a reply, until leave is called. ok is false if no slot is free. The visitor or the address
// can be empty.
func (g answerGates) enter(
	ctx context.Context, t *embed.Token, visitor, address string,
) (leave func(), ok bool) {
	type place struct {
		*server.Gate
		key string
	}
	token := string(t.ID)
	places := []place{
		{g.node, "node"}, {g.orgs, string(t.Org)}, {g.workspaces, string(t.Workspace)}, {g.tokens, token},
	}
	if visitor != "" {
		places = append(places, place{g.visitors, token + " " + visitor})
	}
	if address != "" {
		places = append(places, place{g.addresses, token + " " + address})
	}
	count := 0
	leave = func() {
		for _, p := range places[:count] {
			p.Leave(p.key)
		}
	}
	for ; count < len(places); count++ {
		if p := places[count]; !p.Enter(ctx, p.key, 0) {
			leave()
			return nil, false
		}
	}
	return leave, true
}
