package chats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// UseConnection calls do with the readable credential of a connection, whose kind it also checks against what the org
// offers. The context of do ends when the credential is replaced or revoked.
type UseConnection func(ctx context.Context, by identity.Actor, id connection.ID,
	do func(context.Context, ports.Warehouse, ports.Target) error) error

// Repliers are the adapters that ask an organisation's endpoints, by the kind of their connection.
type Repliers map[connection.Kind]ports.Replier

// Replies relays the messages of visitors to reply endpoints. It stores neither messages nor replies.
type Replies struct {
	embeds   *Embeds
	counts   *replyCounts
	chats    ports.Chats
	prompts  ports.PromptVersions
	expand   ExpandPrompt
	use      UseConnection
	repliers Repliers
}

// ExpandPrompt returns a version as its readers get it, with the texts of its includes.
type ExpandPrompt func(ctx context.Context, store ports.PromptVersions, by identity.Actor, of *prompt.Reading,
	v *prompt.Version) (*prompt.Version, error)

// NewReplies returns the use cases on these stores, and on embeds, which are on the same stores.
func NewReplies(s ports.Stores, embeds *Embeds, x ExpandPrompt, u UseConnection, r Repliers) *Replies {
	return &Replies{
		embeds: embeds, counts: &replyCounts{store: s.Replies, reserved: map[countedFor]*counted{}}, chats: s.Chats,
		prompts: s.Prompts, expand: x, use: u, repliers: r,
	}
}

// Asking is an admitted message of a visitor.
type Asking struct {
	replies *Replies
	by      identity.Actor
	reply   chat.Reply
	request ports.ReplyRequest
	pass    chat.EmbedPass
}

// Ask admits a visitor's message and counts it. Everything that the endpoint gets besides the message comes from the
// template and the session, not from the page. Returns chat.ErrNoReplies if the template has no reply endpoint, and
// chat.ErrDailyReplies if the token has answered as many messages today as it may.
func (s *Replies) Ask(ctx context.Context, v Visit, session string, q chat.Question, limit Limit) (*Asking, error) {
	pass, e, err := s.embeds.resume(ctx, v, session, limit)
	if err != nil {
		return nil, err
	}
	if err := q.Check(); err != nil {
		return nil, err
	}
	if !e.Template.Reply.Answers() {
		return nil, chat.ErrNoReplies
	}
	by := identity.System(v.Org, e.Template.Workspace, "embedded chat", v.At)
	t, err := s.chats.Get(ctx, by, e.Template.ID)
	if err != nil {
		return nil, err
	}
	served := *t
	if pass.Draft == "" {
		served.Content = t.Served()
	}
	t = &served
	a := &Asking{replies: s, by: by, pass: pass, reply: t.Reply, request: ports.ReplyRequest{
		ID: id.New("msg"), Template: t.ID, Token: pass.Token, Origin: pass.Origin, Visitor: pass.Visitor,
		Signed: pass.Signed,
		Model:  t.Reply.Model, Config: t.Model, Question: q,
	}}
	_, told, err := s.effective(ctx, by, t, nil)
	if errors.Is(err, chat.ErrPromptGone) { // a chat without its instructions could say anything
		err = chat.ErrNoReplies
	}
	if err != nil {
		return nil, err
	}
	a.request.Instructions = told.Instructions
	if pass.Draft != "" {
		return a, nil
	}
	counted, err := s.counts.take(ctx, &e.Token, v, pass)
	if err == nil && !counted {
		tomorrow := v.At.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		err = chat.ErrDailyReplies.WithRetryAfter(tomorrow.Sub(v.At))
	}
	return a, err
}

// effective returns the effective instructions of a template: its own, or those of its prompt's version, which is nil
// otherwise. The rights of the template's owner decide which version that is. It returns chat.ErrPromptGone if there is
// none.
func (s *Replies) effective(
	ctx context.Context, by identity.Actor, t *chat.Template, values map[string]any,
) (*prompt.Version, chat.Effective, error) {
	if t.Prompt == (chat.Prompt{}) {
		return nil, chat.Effective{Instructions: t.Instructions}, nil
	}
	found, v, _, err := s.prompts.Referenced(ctx, by, t.Prompt.Reference(t.ID))
	if errors.Is(err, prompt.ErrNotFound) || err == nil && (v == nil || !found.DeletedAt.IsZero()) {
		return nil, chat.Effective{}, chat.ErrPromptGone
	}
	if err != nil {
		return nil, chat.Effective{}, err
	}
	whole, err := s.expand(ctx, s.prompts, by, found, v)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Invalid { // an include of a draft is gone
		return nil, chat.Effective{}, chat.ErrPromptGone
	}
	if err != nil {
		return nil, chat.Effective{}, err
	}
	e, err := t.Reply.Effective(whole.Content, values)
	return v, e, err
}

// Pass returns the session of the visitor, which must continue as long as the answer.
func (a *Asking) Pass() chat.EmbedPass { return a.pass }

// Connection returns the connection that replies, for the log.
func (a *Asking) Connection() connection.ID { return a.reply.Connection }

// Answer relays the message, and passes each piece of the reply to each. Errors are a chat.ReplyFailure with a cause
// for the log, the error of each, or the context's.
func (a *Asking) Answer(ctx context.Context, each func(text string) error) error {
	err := a.replies.use(ctx, a.by, a.reply.Connection,
		func(ctx context.Context, _ ports.Warehouse, to ports.Target) error {
			replier, ok := a.replies.repliers[to.Credential.Kind()]
			if !ok || to.Credential.Kind() != a.reply.Needs() {
				return errors.New("the connection is of another kind")
			}
			return replier.Reply(ctx, to, a.request, each)
		})
	if _, known := errors.AsType[chat.ReplyFailure](err); err != nil && !known && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", chat.ReplyFailed, err)
	}
	return err
}

// usableReply reports whether by may use the connection of r. The kind of the connection must fit.
func usableReply(ctx context.Context, tx ports.Stores, by identity.Actor, r chat.Reply) (bool, error) {
	if !r.Answers() || r.Connection == "" {
		return false, nil
	}
	c, err := tx.Connections.Get(ctx, by.Workspace, r.Connection)
	if errors.Is(err, connection.ErrNotFound) {
		return false, nil
	}
	return err == nil && c.Kind == r.Needs() && c.MayTry(by, false) == nil, err
}
