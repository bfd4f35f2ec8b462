package sources_test

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

const acme = identity.WorkspaceID("acme")

var (
	now = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

	owner  = actor("ann", identity.Member)
	peer   = actor("pia", identity.Member)
	admin  = actor("ada", identity.Admin)
	viewer = actor("vic", identity.Viewer)
	system = identity.System("org", acme, "test", now)

	errOutage = errors.New("the store is away")

	people = source.Type{Key: "people", Title: "People",
		Accepts: []source.Backend{source.SheetBackend, source.WarehouseBackend}, Fields: []column.Field{
			{Key: "email", Title: "E-mail", Type: column.Email, Required: true},
		}}
	columns = []column.Header{{Name: "Mail", Column: "A", Type: column.Email},
		{Name: "Age", Column: "B", Type: column.Integer}}
	rows    = [][]*string{{new("ann@example.com"), new("30")}}
	email   = []source.Pair{{Field: "email", Column: "Mail"}}
	table   = source.Location{Connection: "con", Table: connection.TableRef{Schema: "public", Name: "people"}}
	sheetAt = source.Location{Sheet: source.SheetLocation{URL: "https://files.example.com/people.csv"}}
	bookAt  = source.Location{Sheet: source.SheetLocation{URL: "https://docs.google.com/spreadsheets/d/x/edit"}}
)

// throughGoogle returns a location that was read by the workspace's connection to Google.
func throughGoogle(location source.Location) source.Location {
	location.Connection = "con_google"
	return location
}

func actor(user identity.UserID, role identity.Role) identity.Actor {
	return identity.Actor{Org: "org", User: user, Workspace: acme, Role: role, Ceiling: identity.Owner, At: now}
}

// env is a Service on mocked ports. A call that a test does not expect fails it.
type env struct {
	*sources.Service
	t           *testing.T
	atomic      *mocks.MockAtomic
	sources     *mocks.MockSources
	validations *mocks.MockSourceValidations
	changes     *mocks.MockSourceChanges
	files       *mocks.MockSourceFiles
	parts       *mocks.MockFileParts
	connections *mocks.MockConnections
	workspaces  *mocks.MockWorkspaces
	jobs        *mocks.MockJobs
	sheets      *mocks.MockSheets
	warehouse   *mocks.MockWarehouse
	lent        error               // instead of lending
	sessions    int                 // how often a credential was lent
	tried       connection.Attempts // by previews of the workspace
	noted       []event.Note
	used        quota.Amounts // of the workspace, which may have one source
	usage       *mocks.MockUsage
	ctx         context.Context
	types       []source.Type // of the org
	mostRows    int           // that the org allows; 100 if it is 0
	mostBytes   int           // that the org allows in one read; 1 GiB if it is 0
	locale      string        // of the org's sheets
	credential  connection.Credential
	limits      ports.Limits // of the last read
}

func newEnv(t *testing.T) *env {
	c := gomock.NewController(t)
	s := &env{
		t: t, atomic: mocks.NewMockAtomic(c), sources: mocks.NewMockSources(c),
		validations: mocks.NewMockSourceValidations(c), changes: mocks.NewMockSourceChanges(c),
		files: mocks.NewMockSourceFiles(c), parts: mocks.NewMockFileParts(c),
		connections: mocks.NewMockConnections(c), workspaces: mocks.NewMockWorkspaces(c),
		jobs: mocks.NewMockJobs(c), sheets: mocks.NewMockSheets(c), warehouse: mocks.NewMockWarehouse(c),
		ctx: t.Context(), types: []source.Type{people},
	}
	s.connections.EXPECT().Attempt(gomock.Any(), gomock.Any(), connection.Previewing, gomock.Any(),
		gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, by identity.Actor, _ connection.Effort, _ connection.Target,
			admit func(*connection.Counts) error) error {
			if by.Workspace != acme || by.IsSystem() {
				t.Errorf("a preview of %s is counted, by %q", by.Workspace, by.User)
			}
			counts := connection.Counts{Workspace: s.tried}
			err := admit(&counts)
			s.tried = counts.Workspace
			return err
		})
	withCredential := func(ctx context.Context, by identity.Actor, id connection.ID,
		do func(context.Context, ports.Warehouse, ports.Target) error) error {
		if by.Workspace != acme || (id != "con" && id != "con_google") {
			t.Errorf("%s of %s was to be lent", id, by.Workspace)
		}
		s.sessions++
		if s.lent != nil {
			return s.lent
		}
		return do(ctx, s.warehouse, ports.Target{Credential: s.credential, Limits: ports.DefaultLimits()})
	}
	notes := mocks.NewMockNotes(c)
	notes.EXPECT().Note(gomock.Any(),
		gomock.Any()).Do(func(_ context.Context, n event.Note) { s.noted = append(s.noted, n) }).AnyTimes()
	offers := func(org identity.OrgID) sources.Offer {
		if org != "org" {
			t.Errorf("the offer of org %q was asked for", org)
		}
		return sources.Offer{Types: s.types, Sheets: ports.SheetOffer{Files: true, Locale: s.locale},
			Rows: source.RowLimits{Rows: cmp.Or(s.mostRows, 100), Bytes: cmp.Or(s.mostBytes, 1<<30),
				Seconds: time.Minute}}
	}
	quotas := func(_ context.Context, by identity.Actor) (quota.Limits, error) {
		if by.Workspace != "acme" {
			t.Errorf("the quotas of %s were asked for", by.Workspace)
		}
		return quota.Limits{Amounts: quota.Amounts{Sources: 1, StorageBytes: 1000}}, nil
	}
	s.Service = sources.NewService(
		s.atomic,
		ports.SourceStores{Sources: s.sources, SourceValidations: s.validations, SourceChanges: s.changes,
			SourceFiles: s.files},
		sources.Deps{
			Connections:    s.connections,
			Workspaces:     s.workspaces,
			Jobs:           s.jobs,
			Sheets:         s.sheets,
			WithCredential: withCredential,
			Offers:         offers,
			Digester:       fixture.Digester{},
			Notes:          notes,
			Limits: sources.Limits{
				Previews: connection.PreviewLimits{WorkspacePerMinute: 1, TargetPerHour: 1}, Refresh: time.Minute,
			},
			Quotas:    quotas,
			Sealer:    reversed{},
			FileParts: s.parts,
		},
	)
	s.usage = mocks.NewMockUsage(c)
	s.usage.EXPECT().Lock(s.ctx, acme).AnyTimes()
	s.usage.EXPECT().Amounts(s.ctx, acme, now).AnyTimes().DoAndReturn(
		func(context.Context, identity.WorkspaceID, time.Time) (quota.Amounts, error) { return s.used, nil })
	return s
}

func (s *env) expectAtomic() {
	s.atomic.EXPECT().Atomically(gomock.Any(),
		gomock.Any()).DoAndReturn(func(_ context.Context, fn func(ports.Stores) error) error {
		return fn(ports.Stores{
			SourceStores: ports.SourceStores{
				Sources: s.sources, SourceValidations: s.validations, SourceChanges: s.changes, SourceFiles: s.files,
			},
			ConnectionStores: ports.ConnectionStores{Connections: s.connections},
			Jobs:             s.jobs,
			PaymentStores:    ports.PaymentStores{Usage: s.usage},
		})
	})
}

// stored returns ann's source, active, with nothing recorded.
func stored(t *testing.T, location source.Location) *source.Source {
	t.Helper()
	if location.Backend() == source.SheetBackend {
		location.Sheet.Tab, location.Sheet.HeaderRow = "0", 1
	}
	askedLocation := location
	if location.Backend() == source.SheetBackend {
		askedLocation.Connection = "" // the reading finds it; the request does not name it
	}
	src, err := source.New(owner, people, source.Draft{Type: "people", Location: askedLocation, Mapping: email},
		source.Reading{Location: location, Columns: columns, RowEstimate: -1}, 0)
	require.NoError(t, err)
	src.ID, src.Log, src.Learnt = "src", event.Log{}, nil
	return src
}

func (s *env) expectGet(src *source.Source) {
	s.sources.EXPECT().Get(gomock.Any(), acme, source.ID("src")).DoAndReturn(func(context.Context, identity.WorkspaceID,
		source.ID) (*source.Source, error) {
		c := *src
		return &c, nil
	}).MinTimes(1)
}

// expectUpdate expects a change of src, after a first try on a copy that loses a race.
func (s *env) expectUpdate(src *source.Source) {
	s.sources.EXPECT().Update(gomock.Any(), acme, source.ID("src"), gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.WorkspaceID, _ source.ID, change func(*source.Source) error) (*source.Source,
			error) {
			lost := *src
			_ = change(&lost)
			if err := change(src); err != nil {
				return nil, err
			}
			return src, nil
		})
}

// expectLock expects that src is locked.
func (s *env) expectLock(src *source.Source) {
	s.sources.EXPECT().Lock(gomock.Any(), acme, source.ID("src")).Return(src, nil)
}

// expectQueued expects a refresh of the source, due after a time.
func (s *env) expectQueued(delay time.Duration) {
	s.t.Helper()
	s.jobs.EXPECT().Enqueue(gomock.Any(), gomock.Any()).DoAndReturn(func(_ context.Context, j job.Job) error {
		wait := j.Due.Sub(now)
		if j.Kind != source.RefreshJob || j.Workspace != acme || j.Org != "org" || wait < delay*89/100 ||
			wait > delay*11/10 {
			s.t.Errorf("queued %+v, which is %s away; want about %s", j, wait, delay)
		}
		return nil
	})
}

// expectBegun expects that a refresh of src begins, and queues the next one a day later.
func (s *env) expectBegun(src *source.Source) {
	s.t.Helper()
	s.expectAtomic()
	s.expectLock(src)
	s.expectQueued(day)
}

// expectTable expects a preview of the table that has the columns with some names.
func (s *env) expectTable(p connection.Preview, err error, names ...string) {
	q := connection.PreviewQuery{Table: table.Table, Rows: connection.MaxSampleRows, Columns: names}
	s.warehouse.EXPECT().Preview(gomock.Any(), gomock.Any(), q).Return(p, err)
}

// expectRefreshed expects a preview of the table with its row estimate, and with the columns of the source.
func (s *env) expectRefreshed(p connection.Preview, err error) {
	q := connection.PreviewQuery{Table: table.Table, Rows: connection.MaxSampleRows, Estimate: true,
		Columns: []string{"Mail", "Age"}}
	s.warehouse.EXPECT().Preview(gomock.Any(), gomock.Any(), q).Return(p, err)
}

var preview = connection.Preview{Columns: []connection.Column{{Name: "Mail", Type: connection.Text},
	{Name: "Age", Type: connection.Integer}}, Rows: rows, RowEstimate: -1}

// counted is preview with a row estimate.
var counted = connection.Preview{Columns: preview.Columns, Rows: rows, RowEstimate: 77}

// expectSheet expects a preview of a sheet.
func (s *env) expectSheet(sheet source.Sheet, err error) *gomock.Call {
	return s.sheets.EXPECT().Preview(gomock.Any(), acme,
		gomock.Any()).DoAndReturn(func(_ context.Context, _ identity.WorkspaceID,
		target ports.SheetTarget) (source.Sheet,
		error) {
		if !target.Offer.Files {
			s.t.Error("the org's offer is missing")
		}
		return sheet, err
	})
}

func aSheet() source.Sheet {
	tab := source.Tab{ID: "0", Title: "People", Rows: 13, Columns: 2}
	return source.Sheet{Title: "people.csv", Tabs: []source.Tab{tab}, Tab: tab,
		Preview: column.Preview{HeaderRow: 2, Confidence: 0.9, Headers: columns, Rows: rows}}
}

// expectGoogles expects a list of the workspace's connections to Google: one that is live, and an older
// and a newer one that are not.
func (s *env) expectGoogles() {
	s.connections.EXPECT().List(gomock.Any(), acme).Return([]connection.Connection{
		{ID: "con_new", Kind: connection.GoogleSheets, Status: connection.Revoked},
		{ID: "con_google", Kind: connection.GoogleSheets, Status: connection.Active},
		{ID: "con_old", Kind: connection.GoogleSheets, Status: connection.Active},
	}, nil, nil)
}

// expectHeld expects that a connection with a status is locked.
func (s *env) expectHeld(id connection.ID, status connection.Status) {
	s.connections.EXPECT().Lock(gomock.Any(), acme, id).Return(&connection.Connection{Workspace: acme, Status: status},
		nil)
}

func (s *env) expectLiveWorkspace() {
	s.workspaces.EXPECT().Find(gomock.Any(), identity.OrgID("org"), "acme").Return(&account.Workspace{ID: acme}, nil)
}

// wantNoted expects one note of a preview by somebody, or none if kind is empty.
func (s *env) wantNoted(kind, subject string, by identity.Actor) {
	s.t.Helper()
	if kind == "" && len(s.noted) == 0 {
		return
	}
	if len(s.noted) != 1 || s.noted[0].Type != kind || s.noted[0].Subject != subject || s.noted[0].By != by {
		s.t.Errorf("noted %+v, want %s of %q", s.noted, kind, subject)
	}
}
