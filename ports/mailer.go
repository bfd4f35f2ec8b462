package ports

import "context"

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Mail is one message to one person, in plain text.
type Mail struct {
	To      string // one bare address, without a name
	Subject string // without control characters
	Text    string // UTF-8, lines end in \n; may hold a secret link
}

// Mailer delivers mail. Nothing depends on it: what a mail says can be had otherwise. Many may
// use one at once.
type Mailer interface {
	// Send hands m to whoever delivers it, or notes in the log that nobody is configured to. It
	// returns when ctx ends, and after 10 s at the latest. An error says that m was not taken, or
	// that the time ran out before anybody said so; it holds nothing of the text. A To or Subject
	// other than above is an error, so that none can add a header or a recipient (RFC 5321, RFC 5322).
	Send(ctx context.Context, m Mail) error

	// Delivers reports whether anyone is configured to deliver mail: without an error, Send has handed the mail
	// over then.
	Delivers() bool
}
