package contract

import (
	"strconv"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// DirectoryRequests is the suite for ports.DirectoryRequests.
func DirectoryRequests(t *testing.T, open Opener) {
	a := open(t)
	ctx, org, now := t.Context(), a.Orgs[0], time.Now() // ids have the time at which they were made
	add := func(org identity.OrgID, token, number int, outcome account.DirectoryOutcome) *account.DirectoryRequest {
		t.Helper()
		by := identity.System(org, "", "req_"+strconv.Itoa(number), fixture.At)
		r := account.NewDirectoryRequest(by,
			account.DirectoryRequest{Token: token, Method: "PATCH", Resource: account.DirectoryUserResource,
				Subject: "usr_01jb4rqnx1e5btz2s1v2j9k3mn", Attributes: []string{"userName", "emails.value"},
				Outcome: outcome, Status: 200, Code: "uniqueness", Detail: "Taken."})
		must(t, a.DirectoryRequests.Add(ctx, by, r, 3))
		return r
	}
	list := func(
		org identity.OrgID, outcome account.DirectoryOutcome, since time.Time,
	) []account.DirectoryRequest {
		t.Helper()
		return fixture.Pages(t, 2, func(q page.Query) (account.DirectoryRequestPage, error) {
			return a.DirectoryRequests.List(ctx, org, outcome, since, q)
		})
	}
	requests := func(all []account.DirectoryRequest) (ids []string) {
		for _, r := range all {
			ids = append(ids, r.Request)
		}
		return ids
	}
	t.Run("a request is listed as it was added, the newest first", func(t *testing.T) {
		first, second := add(org, 1, 1, account.DirectoryChanged), add(org, 1, 2, account.DirectoryChanged)
		same(t, "requests", list(org, "", now.Add(-time.Hour)), []account.DirectoryRequest{*second, *first})
	})
	t.Run("a token keeps its newest requests of each outcome, whatever others send", func(t *testing.T) {
		add(org, 1, 3, account.DirectoryRefused)
		add(org, 2, 4, account.DirectoryChanged)
		add(a.Orgs[1], 1, 5, account.DirectoryChanged)
		for i := range 3 {
			add(org, 1, 6+i, account.DirectoryChanged)
		}
		same(t, "requests", requests(list(org, "", now.Add(-time.Hour))),
			[]string{"req_8", "req_7", "req_6", "req_4", "req_3"})
		same(t, "of another org", requests(list(a.Orgs[1], "", now.Add(-time.Hour))), []string{"req_5"})
	})
	t.Run("requests of an outcome and since a time are listed", func(t *testing.T) {
		same(t, "refused", requests(list(org, account.DirectoryRefused, now.Add(-time.Hour))), []string{"req_3"})
		same(t, "of the future", len(list(org, "", now.Add(time.Hour))), 0)
	})
}
