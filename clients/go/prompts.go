package atrium

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"
)

// Prompts returns prompts from memory. It is safe for concurrent use.
type Prompts struct {
	client *Client
	now    func() time.Time

	mu       sync.Mutex
	entries  map[promptKey]*promptEntry
	failures map[promptKey]promptFailure // of calls with a fallback
	warned   bool                        // in this outage
}

// promptFailure is a load that has failed.
type promptFailure struct {
	err  error
	time time.Time
}

type promptKey struct{ workspace, name, ref string }

func newPrompts(c *Client) *Prompts {
	return &Prompts{client: c, now: time.Now, entries: map[promptKey]*promptEntry{},
		failures: map[promptKey]promptFailure{}}
}

// promptEntry is a prompt in memory.
type promptEntry struct {
	prepared   *preparedPrompt // nil until it is loaded
	division   *division       // of the label, while a rollout of it runs
	etag       string
	confirmed  time.Time     // when the server last confirmed it
	asked      time.Time     // when the server was last asked
	err        error         // of the last question
	refreshing chan struct{} // closed when the server has answered; nil if it is not asked
}

// PromptOptions are options of Prompts.Get. The zero value has the defaults.
type PromptOptions struct {
	Ref       string         // the id of a version, a label, active (the default), latest, or a number such as v12
	Key       string         // who reads, such as the id of your user: the same key gets the same version of a rollout
	Fallback  *PromptVersion // the prompt if there is no other: only Text or Messages are necessary
	TTL       time.Duration  // how long a prompt is used without asking the server again: one minute by default
	MaxStale  time.Duration  // how long it is used although the server cannot confirm it: a day by default
	Workspace string         // id or slug, if the credential gives access to several

	FallbackAfter time.Duration // after which Fallback is used if the server has not answered: two seconds by default
}

// TextFallback returns a fallback that is a text.
func TextFallback(text string) *PromptVersion { return &PromptVersion{Text: &text} }

// Prompt is a prompt, ready to be rendered.
type Prompt struct {
	Name, Ref  string
	Version    *PromptVersion // as the server returned it, or the fallback
	IsFallback bool
	Err        error // why the server did not confirm this prompt, if it did not

	prepared *preparedPrompt
}

// Render fills in variables on this machine, with the same result as the server. It returns a *RenderError.
func (p *Prompt) Render(values map[string]any) (*Rendered, error) {
	return p.prepared.render(values, RenderModeStrict)
}

// RenderPartial is Render that keeps the tags of required variables without a value.
func (p *Prompt) RenderPartial(values map[string]any) (*Rendered, error) {
	return p.prepared.render(values, RenderModePartial)
}

// refreshPause is how long a question that failed is not repeated.
const refreshPause = 5 * time.Second

// Get returns a prompt by its name. The first call asks the server. Later calls return the prompt in memory: at once,
// and after TTL while it is refreshed in the background. In an outage, the prompt in memory is used for up to MaxStale,
// then Fallback: after FallbackAfter, and at once for five seconds after that. A prompt that was deleted, or that the
// credential may no longer read, is removed from memory. Without a fallback, it returns the errors of
// PromptTemplates.Resolve. The versions of a rollout are in memory too, so that no Key needs the server.
func (p *Prompts) Get(ctx context.Context, name string, options PromptOptions) (*Prompt, error) {
	if options.Ref == "" {
		options.Ref = "active"
	}
	if options.TTL == 0 {
		options.TTL = time.Minute
	}
	if options.MaxStale == 0 {
		options.MaxStale = 24 * time.Hour
	}
	if options.FallbackAfter == 0 {
		options.FallbackAfter = 2 * time.Second
	}
	key := promptKey{options.Workspace, name, options.Ref}
	p.mu.Lock()
	entry := p.entries[key]
	if entry == nil {
		entry = &promptEntry{}
		p.entries[key] = entry
	}
	if entry.prepared == nil {
		p.mu.Unlock()
		return p.load(ctx, key, entry, options)
	}
	age := p.now().Sub(entry.confirmed)
	if age >= options.TTL+options.MaxStale {
		p.mu.Unlock()
		return p.load(ctx, key, entry, options)
	}
	if age >= options.TTL && p.now().Sub(entry.asked) >= min(options.TTL, refreshPause) && entry.refreshing == nil {
		entry.asked, entry.refreshing = p.now(), make(chan struct{})
		// The caller does not wait, so its deadline does not apply.
		go p.refresh(context.WithoutCancel(ctx), key, entry) //nolint:gosec // it is detached on purpose
	}
	prompt := entry.prompt(key, options.Key)
	p.mu.Unlock()
	return prompt, nil
}

// Clear forgets the prompts in memory, so that the next Get asks the server: for a webhook that tells of a change.
func (p *Prompts) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.entries)
	clear(p.failures)
}

// prompt returns what entry has for a reader. The caller holds the lock.
func (e *promptEntry) prompt(key promptKey, reader string) *Prompt {
	prepared := e.prepared
	if e.division != nil && reader != "" {
		prepared = e.division.choose(reader)
	}
	return &Prompt{Name: key.name, Ref: key.ref, Version: prepared.version, Err: e.err, prepared: prepared}
}

// load waits for an answer of the server. Callers that ask for the same prompt wait for the same answer. With a fallback,
// it gives up soon, and at once if it has just failed.
func (p *Prompts) load(ctx context.Context, key promptKey, entry *promptEntry, options PromptOptions) (*Prompt, error) {
	p.mu.Lock()
	failure, hasFailed := p.failures[key]
	if options.Fallback != nil && hasFailed && p.now().Sub(failure.time) < refreshPause {
		p.mu.Unlock()
		return p.fallback(key, options, failure.err)
	}
	if entry.refreshing == nil {
		entry.asked, entry.refreshing = p.now(), make(chan struct{})
		go p.refresh(context.WithoutCancel(ctx), key, entry) //nolint:gosec // other callers wait for it too
	}
	answered := entry.refreshing
	p.mu.Unlock()
	var late <-chan time.Time
	if options.Fallback != nil {
		timer := time.NewTimer(options.FallbackAfter)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-answered:
	case <-late:
		return p.failed(key, options, fmt.Errorf("atrium: prompts.get: no answer within %s", options.FallbackAfter))
	case <-ctx.Done():
		return p.fallback(key, options, context.Cause(ctx))
	}
	p.mu.Lock()
	if err := entry.err; err != nil {
		p.mu.Unlock()
		return p.failed(key, options, err)
	}
	defer p.mu.Unlock()
	return entry.prompt(key, options.Key), nil
}

// failed remembers that a load has failed if there is a fallback, and returns it.
func (p *Prompts) failed(key promptKey, options PromptOptions, err error) (*Prompt, error) {
	if options.Fallback != nil {
		p.mu.Lock()
		now := p.now()
		maps.DeleteFunc(p.failures, func(_ promptKey, f promptFailure) bool { return now.Sub(f.time) >= refreshPause })
		p.failures[key] = promptFailure{err, now}
		p.mu.Unlock()
	}
	return p.fallback(key, options, err)
}

func (p *Prompts) fallback(key promptKey, options PromptOptions, err error) (*Prompt, error) {
	if options.Fallback == nil {
		return nil, err
	}
	p.mu.Lock()
	isKnown := p.warned
	p.warned = true
	p.mu.Unlock()
	if !isKnown {
		p.client.logger.Warn("atrium: a prompt is replaced by its fallback", "prompt", key.name, "error", err)
	}
	prepared, problem := preparePrompt(options.Fallback)
	if problem != nil {
		return nil, problem
	}
	return &Prompt{Name: key.name, Ref: key.ref, Version: options.Fallback, IsFallback: true, Err: err,
		prepared: prepared}, nil
}

// refresh asks the server, and closes refreshing.
func (p *Prompts) refresh(ctx context.Context, key promptKey, entry *promptEntry) {
	item, err := p.resolve(ctx, key)
	var prepared *preparedPrompt
	if err == nil {
		prepared, err = preparePrompt(item.Version)
	}
	var division *division
	if err == nil && item.Rollout != nil {
		division, err = p.divide(ctx, key, item)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	close(entry.refreshing)
	entry.refreshing, entry.err = nil, err
	if err == nil {
		if etag := valueOf(item.ETag); entry.prepared == nil || etag != entry.etag {
			entry.prepared, entry.etag = prepared, etag
		}
		entry.division, entry.confirmed = division, p.now()
		p.warned = false
		delete(p.failures, key)
		return
	}
	if failed, ok := errors.AsType[*Error](err); entry.prepared == nil || (ok && isRevoked(failed.Status)) {
		if p.entries[key] == entry {
			delete(p.entries, key)
		}
	}
}

// isRevoked reports whether the prompt is gone, or may no longer be read.
func isRevoked(status int) bool {
	return status == http.StatusNotFound || status == http.StatusUnauthorized || status == http.StatusForbidden
}

// resolve fetches one prompt. The error of its reference becomes the error of the call.
func (p *Prompts) resolve(ctx context.Context, key promptKey) (*ResolvedPrompt, error) {
	result, err := p.resolveAll(ctx, key, []ResolveRef{{Name: &key.name, Ref: &key.ref}})
	if err != nil {
		return nil, err
	}
	if len(result.Data) == 1 && result.Data[0].Version != nil {
		return &result.Data[0], nil
	}
	failed := &Error{Call: "prompts.get", Problem: Problem{Type: "about:blank", Title: "The prompt cannot be used",
		Status: http.StatusNotFound, Code: string(CodeUnexpectedResponse), Detail: "The response has no version."}}
	if len(result.Data) == 1 && result.Data[0].Error != nil {
		failed.Code, failed.Detail = result.Data[0].Error.Code, result.Data[0].Error.Detail
	}
	return nil, failed
}

func (p *Prompts) resolveAll(ctx context.Context, key promptKey, refs []ResolveRef) (*ResolveResult, error) {
	var options []Option
	if key.workspace != "" {
		options = append(options, InWorkspace(key.workspace))
	}
	return p.client.PromptTemplates.Resolve(ctx, ResolveRequest{Refs: refs}, options...)
}
