package ports

import (
	"context"
	"encoding/json"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Replier asks an organisation's endpoint to answer a visitor. There is one per kind of connection that answers.
type Replier interface {
	// Reply sends a request through the target's egress policy, and calls yield with each piece of the answer as it
	// arrives. It follows no redirect. It ends within a second of its context's end. If yield returns an error, Reply
	// ends with it. Other errors are an embed.ReplyFailure, wrapped with a cause that is only for the log; it contains
	// nothing that the endpoint sent, and no part of the credential.
	Reply(ctx context.Context, target Target, r ReplyRequest, yield func(embed.Piece) error) error
}

// ReplyRequest is what an endpoint answers.
type ReplyRequest struct {
	ID       string // of this request, for the endpoint's log
	Template chat.ID
	Token    embed.TokenID
	Origin   embed.Origin // of the site that shows the chat
	Visitor  string       // according to the site; empty: not named
	Signed   bool         // the site's backend vouched for the visitor
	Session  string       // by which the prompt's rollout chooses; empty: from an older release

	Attributes json.RawMessage // of a signed visitor: a JSON object, or nil

	ModelName string // for an OpenAI-compatible API
	Question  embed.Question

	chat.Effective
}
