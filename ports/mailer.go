package ports

import "context"

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Mail is one message to one person, in plain text.
type Mail struct {
	To      string // one bare address, without a display name
	Subject string // without control characters
	Text    string // UTF-8, lines end in \n; may hold a secret link
}

// Mailer delivers mail. Mail is only a convenience: every message's content is available elsewhere. A
// Mailer is safe for concurrent use.
type Mailer interface {
	// Send passes m to the configured mail server, or logs that none is configured. It returns when ctx
	// ends, and after 10 s at the latest. An error means that m was not accepted, or that the time ran
	// out before the server answered; it contains no part of the text. A To or Subject that breaks the
	// rules of Mail is an error, so that a caller cannot add a header or a recipient (RFC 5321, RFC
	// 5322).
	Send(ctx context.Context, m Mail) error

	// Delivers reports whether a mail server is configured. If so, Send has delivered the mail to it
	// when it returns no error.
	Delivers() bool
}
