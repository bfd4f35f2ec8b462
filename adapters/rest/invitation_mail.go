package rest

import (
	"context"
	"strings"
	"unicode"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/ports"
)

// mailInvitation sends the link to the person invited, unless they had a mail just now. The caller
// has it too, so that a mail that is not taken is worth a line in the log and nothing more.
func (a *API) mailInvitation(ctx context.Context, i *account.Invitation, to *account.Workspace, url string) {
	if !i.Mailed() {
		return
	}
	if err := a.Mailer.Send(ctx, invitationMail(i, to, url)); err != nil {
		a.Log.WarnContext(ctx, "an invitation was not mailed", "invitation_id", i.ID, "error", err)
	}
}

// invitationMail says nothing in the words of whoever invites but the workspace's name, quoted and
// without what could be taken for a link: the mail comes from us, and must not be of use for theirs.
func invitationMail(i *account.Invitation, to *account.Workspace, url string) ports.Mail {
	return ports.Mail{
		To: i.Email, Subject: "You are invited to a workspace",
		Text: "You are invited to the workspace \"" + unlinked(to.Name) + "\".\n\nAccept within seven days:\n" + url + "\n\nIf you did not expect this, ignore it.\n",
	}
}

// unlinked is a name without anything that programs make links of: it keeps letters, digits and the
// few marks that names have, and a full stop only where a word ends with it.
func unlinked(name string) string {
	kept := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || strings.ContainsRune(".,-'&()!", r) {
			return r
		}
		return ' '
	}, name)
	words := strings.Fields(kept)
	for n, word := range words {
		stop := strings.HasSuffix(word, ".")
		if word = strings.ReplaceAll(strings.TrimRight(word, "."), ".", " "); stop {
			word += "."
		}
		words[n] = word
	}
	return strings.Join(words, " ")
}
