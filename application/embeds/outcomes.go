package embeds

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// outcomes collects what became of replies. It is written each usageInterval, so that a failing endpoint does not cause
// a write for each visitor.
type outcomes struct {
	mu       sync.Mutex
	chats    map[repliedChat]replied
	failures map[usedToken]map[failedBy]int64
}

type repliedChat struct {
	org       identity.OrgID
	workspace identity.WorkspaceID
	id        chat.ID
}

type replied struct {
	chat.Outcomes
	latest time.Time
}

type failedBy struct {
	day  embed.Day
	code string
}

// add records that a message was answered, or why it was not. Without failures before it, a success changes nothing and
// is not recorded.
func (o *outcomes) add(a *Asking, err error) {
	key := repliedChat{a.by.Org, a.by.Workspace, a.request.Template}
	outcome := replied{chat.Outcomes{Succeeded: err == nil}, a.by.At}
	o.mu.Lock()
	defer o.mu.Unlock()
	previous, isPending := o.chats[key]
	if err == nil && !a.afterFailures && !isPending {
		return
	}
	if err != nil {
		outcome.Failures, outcome.Code = 1, failureCode(err)
		o.count(usedToken{a.by.Org, a.pass.Token}, failedBy{embed.DayOf(a.by.At), outcome.Code}, 1)
	}
	if isPending || len(o.chats) < maxPending {
		o.chats[key] = replied{previous.Then(outcome.Outcomes), a.by.At}
	}
}

func (o *outcomes) count(token usedToken, by failedBy, n int64) {
	if o.failures[token] == nil {
		if len(o.failures) >= maxPending {
			return
		}
		o.failures[token] = map[failedBy]int64{}
	}
	o.failures[token][by] += n
}

// failureCode returns why a message was not answered: the cause at the connection, if there is one.
func failureCode(err error) string {
	if code, ok := errors.AsType[connection.Code](err); ok {
		return string(code)
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Code
	}
	if f, ok := errors.AsType[embed.ReplyFailure](err); ok {
		return string(f)
	}
	return string(embed.ReplyFailed)
}

// flush writes the outcomes. Those that could not be written stay for the next call.
func (o *outcomes) flush(ctx context.Context, s *Service) error {
	o.mu.Lock()
	chats, failures := o.chats, o.failures
	o.chats, o.failures = map[repliedChat]replied{}, map[usedToken]map[failedBy]int64{}
	o.mu.Unlock()
	var errs []error
	for token, counts := range failures {
		all := make([]embed.Failure, 0, len(counts))
		for by, n := range counts {
			all = append(all, embed.Failure{Day: by.day, Code: by.code, Count: n})
		}
		if err := s.uses.AddFailures(ctx, token.org, token.id, all); err != nil {
			errs = append(errs, err)
			o.mu.Lock()
			for by, n := range counts {
				o.count(token, by, n)
			}
			o.mu.Unlock()
		}
	}
	for key, r := range chats {
		by := identity.System(key.org, key.workspace, "embedded chat", r.latest)
		_, err := s.chats.Update(ctx, by, key.id, func(t *chat.Template) error {
			t.Replied(by, r.Outcomes)
			return nil
		})
		if err != nil && !errors.Is(err, chat.ErrNotFound) {
			errs = append(errs, err)
			o.mu.Lock()
			if added, isAdded := o.chats[key]; isAdded {
				r = replied{r.Then(added.Outcomes), added.latest}
			}
			o.chats[key] = r
			o.mu.Unlock()
		}
	}
	return errors.Join(errs...)
}
