package google

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// patience is how long all requests of one call may take.
const patience = 15 * time.Second

// Config has the addresses of Google. It is not a setting: only tests use other addresses.
type Config struct {
	API        string // the base of its REST interface
	TokenURL   string // where service accounts sign in, and consents are exchanged; the address in keys is ignored
	ConsentURL string // where people give their consent, in a browser
	RevokeURL  string // where consents are ended
	Client     *http.Client
}

// Default has Google's addresses.
func Default() Config {
	return Config{ //nolint:gosec // of addresses
		API:        "https://sheets.googleapis.com",
		TokenURL:   "https://oauth2.googleapis.com/token",
		ConsentURL: "https://accounts.google.com/o/oauth2/v2/auth",
		RevokeURL:  "https://oauth2.googleapis.com/revoke",
		Client: &http.Client{
			Timeout: patience,
			// there is none to follow
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Sheets is ports.Sheets for Google Sheets. Several may use one at once.
type Sheets struct {
	config   Config
	now      func() time.Time
	accounts *accounts
	books    *cache[bookKey, book]
	heads    *cache[headKey, column.Preview]
	readers  readers
}

// bookKey identifies a sheet as one credential sees it.
type bookKey struct {
	workspace identity.WorkspaceID
	as        key
	sheet     string
}

type headKey struct {
	bookKey
	tab       string // its title; empty: the first that is not hidden
	headerRow int
}

// New returns a Sheets.
func New(c Config) *Sheets { return newSheets(c, time.Now) }

func newSheets(c Config, now func() time.Time) *Sheets {
	return &Sheets{
		config: c, now: now, accounts: &accounts{config: c, now: now, all: map[key]*account{}},
		books: newCache[bookKey, book](now), heads: newCache[headKey, column.Preview](now),
	}
}

// firstID is the id of the tab that every document begins with. It mostly stays the first, and is in
// most addresses that people copy.
const firstID = "0"

var numeric = regexp.MustCompile(`^-?\d+$`)

// Preview implements ports.Sheets. A tab that is named by its id, except the first, needs two requests in sequence
// until the tabs are known: ranges are named only by the title, which the first request returns.
func (s *Sheets) Preview(
	ctx context.Context, workspace identity.WorkspaceID, target ports.SheetTarget,
) (source.Sheet, error) {
	if ctx.Err() != nil {
		return source.Sheet{}, ctx.Err()
	}
	place, ok := parse(target.Location.URL)
	if !ok {
		return source.Sheet{}, source.ErrURLNotAllowed
	}
	account, err := s.accounts.forTarget(target)
	if err != nil {
		return source.Sheet{}, err
	}
	name := target.Location.Tab
	if name == "" {
		name = place.gid
	}
	call := call{s, account, headKey{bookKey: bookKey{workspace, account.key, place.sheet},
		headerRow: target.Location.HeaderRow}}
	b, isKnown := s.books.peek(call.bookKey)
	guess := name
	if name == firstID {
		guess = ""
	}
	var earlyHead head
	if !isKnown {
		if !numeric.MatchString(guess) {
			earlyHead = call.begin(ctx, guess)
		}
		if b, err = call.book(ctx); err != nil {
			return source.Sheet{}, err
		}
	}
	tab, err := source.FindTab(b.tabs, name)
	if err != nil {
		return source.Sheet{}, err
	}
	out := source.Sheet{Title: b.title, Tabs: b.tabs, Tab: tab}
	first, err := source.FindTab(b.tabs, "")
	if earlyHead == nil || err != nil || (guess != tab.Title && (guess != "" || tab != first)) {
		out.Preview, err = call.head(ctx, tab.Title)
		return out, err
	}
	if out.Preview, err = earlyHead(); err == nil {
		call.keep(tab.Title, out.Preview)
	}
	return out, err
}

// call is one running Preview.
type call struct {
	*Sheets
	as *account
	headKey
}

// head is the future result of reading a tab.
type head func() (column.Preview, error)

// begin requests a tab's first rows concurrently with other requests.
func (c call) begin(ctx context.Context, title string) head {
	type result struct {
		preview column.Preview
		err     error
	}
	results := make(chan result, 1)
	go func() {
		p, err := c.head(ctx, title)
		results <- result{p, err}
	}()
	return func() (column.Preview, error) {
		r := <-results
		return r.preview, r.err
	}
}

func (c call) head(ctx context.Context, title string) (column.Preview, error) {
	k := c.headKey
	k.tab = title
	return c.heads.get(ctx, k, func(ctx context.Context) (column.Preview, error) {
		return c.values(ctx, c.as, k.sheet, title, k.headerRow)
	})
}

// keep caches a head under the title of its tab, which is the key once the tabs are known.
func (c call) keep(title string, p column.Preview) {
	k := c.headKey
	k.tab = title
	c.heads.keep(k, p)
}

func (c call) book(ctx context.Context) (book, error) {
	return c.books.get(ctx, c.bookKey, func(ctx context.Context) (book, error) { return c.tabs(ctx, c.as, c.sheet) })
}
