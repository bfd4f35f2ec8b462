package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
)

// Turns that wait are in one node's memory, and nowhere else. Above these limits, further ones are lost.
const (
	turnsWorkspace = 1000     // of one workspace
	bytesWorkspace = 8 << 20  // of one workspace
	bytesOrg       = 16 << 20 // of one org, which can have any number of workspaces
	bytesNode      = 64 << 20
)

// lastAttempts is the time that the end of the process may take for the turns that wait.
const lastAttempts = 5 * time.Second

// errTurns is for a turn that finds no room.
var errTurns = errors.New("too many turns are waiting")

// errTurnRefused is for a turn that the endpoint did not confirm.
var errTurnRefused = errors.New("the webhook did not confirm it")

// turnWaits are the times before the attempts to deliver a turn. They are much shorter than the waits of events,
// because a turn that waits is in memory.
var turnWaits = [...]time.Duration{0, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute}

// Transcripts forwards finished turns to the endpoints of workspaces. It holds a turn in memory until the endpoint
// confirms it or the last attempt has failed, and stores none.
type Transcripts struct {
	webhooks ports.Webhooks
	keys     Keys
	send     ports.WebhookSender
	egress   EgressOf

	stopping chan struct{}   // closed at the end: turns get their last attempt at once
	attempts context.Context //nolint:containedctx // of all attempts, which outlive the requests that cause them
	abandon  context.CancelFunc
	running  sync.WaitGroup
	losses   chan error // for Run to report

	mu         sync.Mutex
	isStopped  bool
	workspaces map[identity.WorkspaceID]*waitingTurns
	orgs       map[identity.OrgID]int // bytes
	total      int                    // bytes
}

// waitingTurns are the turns of one workspace.
type waitingTurns struct {
	count, bytes int
	slots        chan struct{} // of running attempts
}

// NewTranscripts returns a node's Transcripts.
func NewTranscripts(w ports.Webhooks, k Keys, send ports.WebhookSender, egress EgressOf) *Transcripts {
	attempts, abandon := context.WithCancel(context.Background()) //nolint:gosec // Run calls it
	return &Transcripts{webhooks: w, keys: k, send: send, egress: egress, stopping: make(chan struct{}),
		attempts: attempts, abandon: abandon, losses: make(chan error, 100),
		workspaces: map[identity.WorkspaceID]*waitingTurns{}, orgs: map[identity.OrgID]int{}}
}

// Forward delivers a turn to an endpoint of by's workspace, and does not wait for it. lost is called if the turn does
// not arrive.
func (f *Transcripts) Forward(by identity.Actor, hook webhook.ID, t *ports.Turn, lost func()) {
	slots, ok := f.admit(by, t.Size())
	if !ok {
		lost()
		f.lose(hook, t, errTurns)
		return
	}
	go func() {
		defer f.running.Done()
		err := f.deliver(by, hook, t, slots)
		f.leave(by, t.Size())
		if err != nil {
			lost()
			f.lose(hook, t, err)
		}
	}()
}

// lose lets Run report why a turn did not arrive, unless it has many other losses to report.
func (f *Transcripts) lose(hook webhook.ID, t *ports.Turn, err error) {
	select {
	case f.losses <- fmt.Errorf("the turn %s of the chat %s, for the webhook %s: %w", t.ID, t.Template, hook, err):
	default:
	}
}

// admit makes room for a turn, and returns what limits the attempts of its workspace.
func (f *Transcripts) admit(by identity.Actor, size int) (slots chan struct{}, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.workspaces[by.Workspace]
	if w == nil {
		w = &waitingTurns{slots: make(chan struct{}, atOnce)}
	}
	if f.isStopped || w.count >= turnsWorkspace || w.bytes+size > bytesWorkspace ||
		f.orgs[by.Org]+size > bytesOrg || f.total+size > bytesNode {
		return nil, false
	}
	w.count++
	w.bytes += size
	f.workspaces[by.Workspace] = w
	f.orgs[by.Org] += size
	f.total += size
	f.running.Add(1)
	return w.slots, true
}

func (f *Transcripts) leave(by identity.Actor, size int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total -= size
	if f.orgs[by.Org] -= size; f.orgs[by.Org] == 0 {
		delete(f.orgs, by.Org)
	}
	w := f.workspaces[by.Workspace]
	w.bytes -= size
	if w.count--; w.count == 0 {
		delete(f.workspaces, by.Workspace)
	}
}

// deliver makes the attempts. When the node stops, it makes the next one at once, and none after it.
func (f *Transcripts) deliver(by identity.Actor, hook webhook.ID, t *ports.Turn, slots chan struct{}) (err error) {
	for _, wait := range turnWaits {
		isLast := false
		select {
		case <-time.After(wait):
		case <-f.stopping:
			isLast = true
		}
		select {
		case slots <- struct{}{}:
		case <-f.attempts.Done():
			return f.attempts.Err()
		}
		hasEnded := false
		hasEnded, err = f.attempt(by, hook, t)
		<-slots
		if hasEnded || isLast {
			return err
		}
	}
	return err
}

// attempt sends a turn once. hasEnded is true if it arrived, or if another attempt would be in vain.
func (f *Transcripts) attempt(by identity.Actor, hook webhook.ID, t *ports.Turn) (hasEnded bool, err error) {
	ctx, cancel := context.WithTimeout(f.attempts, 30*time.Second)
	defer cancel()
	e, err := f.webhooks.Get(ctx, by.Workspace, hook)
	if errors.Is(err, webhook.ErrNotFound) {
		return true, err
	}
	if err != nil {
		return false, err
	}
	if !e.Enabled {
		return true, webhook.ErrDisabled
	}
	now := time.Now()
	target, err := f.keys.target(e, f.egress, now)
	if err != nil {
		return false, err
	}
	out := f.send.SendTurn(ctx, target, t, now)
	if out.Delivered() {
		return true, nil
	}
	return out.Status == http.StatusGone, fmt.Errorf("%w: status %d %s", errTurnRefused, out.Status, out.Failure)
}

// Run reports the turns that do not arrive, until ctx ends. Then it waits for the last attempts to deliver the others.
func (f *Transcripts) Run(ctx context.Context, report func(error)) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case err := <-f.losses:
			report(err)
		}
	}
	f.mu.Lock()
	f.isStopped = true
	f.mu.Unlock()
	close(f.stopping)
	defer time.AfterFunc(lastAttempts, f.abandon).Stop()
	f.running.Wait()
	for {
		select {
		case err := <-f.losses:
			report(err)
		default:
			return
		}
	}
}
