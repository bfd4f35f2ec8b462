package accounts

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
)

// queueDirectoryNotices queues the mails about a person who was deactivated: to the owners of each workspace whose
// service keys were suspended, and to the operators if workspaces have no active owner.
func queueDirectoryNotices(ctx context.Context, tx ports.Stores, by identity.Actor, a *account.Access) error {
	workspaces := map[identity.WorkspaceID]bool{}
	for _, k := range a.Lost.Suspended {
		workspaces[k.Workspace] = true
	}
	for ws := range workspaces {
		owners, err := ownersOf(ctx, tx.Workspaces, by.Org, ws)
		if err != nil {
			return err
		}
		if err := queueNotices(ctx, tx.Jobs, by, ws, a.User.ID, owners); err != nil {
			return err
		}
	}
	if len(a.OnlyOwnerOf) == 0 {
		return nil
	}
	return queueNotices(ctx, tx.Jobs, by, "", a.User.ID, a.Operators)
}

func queueNotices(
	ctx context.Context, jobs ports.Jobs, by identity.Actor, ws identity.WorkspaceID, person identity.UserID,
	recipients []identity.UserID,
) error {
	by.Workspace = ws
	for _, recipient := range recipients {
		if recipient == person {
			continue
		}
		subject := string(person) + " " + string(recipient)
		if err := jobs.Enqueue(ctx, job.New(by, account.DirectoryNoticeJob, subject, by.At)); err != nil {
			return err
		}
	}
	return nil
}

// ownersOf returns the people who own a workspace.
func ownersOf(
	ctx context.Context, workspaces ports.Workspaces, org identity.OrgID, ws identity.WorkspaceID,
) (owners []identity.UserID, err error) {
	for q := (page.Query{Limit: 100}); ; {
		members, err := workspaces.Members(ctx, org, ws, q)
		if err != nil {
			return nil, err
		}
		for _, m := range members.Items {
			if m.Role == identity.Owner && !m.Service {
				owners = append(owners, m.User)
			}
		}
		if members.Next == "" {
			return owners, nil
		}
		q.After = members.Next
	}
}

// MailNotice mails one person about another one, who was deactivated by the directory. subject is the job's; by is the
// system in the workspace of the recipient, who owns it, or in none if the recipient is an operator. It mails nothing
// if that is no longer so, or if the account is active again.
func (s *Directory) MailNotice(ctx context.Context, by identity.Actor, subject string) error {
	person, recipient, _ := strings.Cut(subject, " ")
	var mail ports.Mail
	err := s.atomic.Atomically(ctx, func(tx ports.Stores) (err error) {
		mail, err = directoryNotice(ctx, tx, by, identity.UserID(person), identity.UserID(recipient))
		return err
	})
	if errors.Is(err, account.ErrUserNotFound) || errors.Is(err, account.ErrMemberNotFound) ||
		errors.Is(err, identity.ErrWorkspaceNotFound) {
		return nil
	}
	if err != nil || mail.To == "" {
		return err
	}
	return s.mailer.Send(ctx, mail)
}

// directoryNotice returns the mail of MailNotice, without an address if nothing is to be sent.
func directoryNotice(
	ctx context.Context, tx ports.Stores, by identity.Actor, person, recipient identity.UserID,
) (mail ports.Mail, err error) {
	var a *account.Access
	if err := tx.People.ChangeAccess(ctx, by, person, func(found *account.Access) error {
		a = found
		return nil
	}); err != nil || a.User.Enabled() {
		return mail, err
	}
	u, _, err := tx.Users.Get(ctx, by.Org, recipient)
	if err != nil || !u.CanBeAlerted() {
		return mail, err
	}
	if by.Workspace == "" {
		if len(a.OnlyOwnerOf) > 0 && slices.Contains(a.Operators, recipient) {
			mail = ownerlessMail(u.Email, a)
		}
		return mail, nil
	}
	m, err := tx.Workspaces.Member(ctx, by.Org, by.Workspace, recipient)
	if err != nil || m.Role != identity.Owner {
		return mail, err
	}
	w, err := tx.Workspaces.Find(ctx, by.Org, string(by.Workspace))
	if err != nil {
		return mail, err
	}
	if names := suspendedNames(a.Powers[by.Workspace].Keys); len(names) > 0 {
		mail = suspendedMail(u.Email, w.Slug, names)
	}
	return mail, nil
}

// suspendedNames returns the names of the keys that are suspended, with the ends of their tokens.
func suspendedNames(keys []*account.Key) (names []string) {
	for _, k := range keys {
		if !k.SuspendedAt.IsZero() {
			names = append(names, "- \""+naming.Harmless(k.Name)+"\", whose token ends in "+k.Hint)
		}
	}
	return names
}

// suspendedMail names the workspace by its slug, and no person: the address may no longer be one of the workspace.
func suspendedMail(address, slug string, names []string) ports.Mail {
	return ports.Mail{
		To: address, Subject: "Service keys are suspended",
		Text: "Workspace: " + slug + "\n\nThe directory of your organisation has deactivated a person who created " +
			"these service keys:\n\n" + strings.Join(names, "\n") + "\n\nPrograms that use them get the status 401. " +
			"The keys work again when the directory activates the person. To go on without the person, rotate the " +
			"keys that you still need.\n",
	}
}

func ownerlessMail(address string, a *account.Access) ports.Mail {
	slugs := make([]string, len(a.OnlyOwnerOf))
	for i, w := range a.OnlyOwnerOf {
		slugs[i] = "- " + w.Slug
	}
	return ports.Mail{
		To: address, Subject: "Workspaces without an active owner",
		Text: "The directory of your organisation has deactivated the only active owner (" + string(a.User.ID) +
			") of these workspaces:\n\n" + strings.Join(slugs, "\n") +
			"\n\nThey still work for their members. Make another person the owner, or activate the person again.\n",
	}
}
