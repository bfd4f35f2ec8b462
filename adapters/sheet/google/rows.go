package google

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"sync"

	"github.com/atrium-hq/atrium/adapters/sheet/selection"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
)

// maxRows is the maximum size for a response with all tab rows, in bytes. Google provides no sheet version that a
// service account can always read. So all rows are read for each page, and their hash is the version.
const maxRows = 16 << 20

// Rows implements ports.Sheets. Cells are as the sheet shows them.
func (s *Sheets) Rows(
	ctx context.Context, workspace identity.WorkspaceID, target ports.SheetTarget, q source.RowsQuery,
	handle func(column.Batch) error,
) error {
	if !s.readers.enter(workspace) {
		return connection.ErrTooManyReads
	}
	defer s.readers.leave(workspace)
	ctx, cancel := context.WithTimeoutCause(ctx, target.Within, source.ErrSheetTimeout)
	defer cancel()
	place, ok := parse(target.Location.URL)
	if !ok {
		return source.ErrURLNotAllowed
	}
	account, err := s.accounts.forTarget(target)
	if err != nil {
		return err
	}
	name := target.Location.Tab
	if name == "" {
		name = place.gid
	}
	c := call{s, account, headKey{bookKey: bookKey{workspace, account.key, place.sheet},
		headerRow: target.Location.HeaderRow}}
	b, err := c.book(ctx)
	if err != nil {
		return err
	}
	tab, err := source.FindTab(b.tabs, name)
	if err != nil {
		return err
	}
	text, err := s.all(ctx, account, place.sheet, tab.Title)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	version := hex.EncodeToString(sum[:16])
	if q.Version != "" && q.Version != version {
		return source.ErrSourceChanged
	}
	rows := selection.New(ctx, target.Location.HeaderRow, version, q, handle)
	if err := values(text, rows.Add); err != nil && !errors.Is(err, selection.ErrEnough) {
		return err
	}
	return rows.End()
}

// maxReaders is how many workspaces can read rows at the same time, each once. Each read has up to maxRows in memory.
const maxReaders = 8

// readers are the workspaces that are reading rows.
type readers struct {
	mu  sync.Mutex
	all map[identity.WorkspaceID]bool
}

func (r *readers) enter(workspace identity.WorkspaceID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all[workspace] || len(r.all) == maxReaders {
		return false
	}
	if r.all == nil {
		r.all = map[identity.WorkspaceID]bool{}
	}
	r.all[workspace] = true
	return true
}

func (r *readers) leave(workspace identity.WorkspaceID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, workspace)
}

// all returns the JSON for all tab rows.
func (s *Sheets) all(ctx context.Context, reader *account, sheet, title string) (json.RawMessage, error) {
	var answer struct{ Values json.RawMessage }
	query := url.Values{"fields": {maskValues}, "majorDimension": {"ROWS"}, "valueRenderOption": {"FORMATTED_VALUE"}}
	columns := "'" + strings.ReplaceAll(title, "'", "''") + "'!A:" + column.Letters(column.MaxColumns-1)
	err := s.read(ctx, reader, url.PathEscape(sheet)+"/values/"+url.PathEscape(columns), query, maxRows, &answer)
	if errors.Is(err, errBadRequest) {
		err = source.ErrTabNotFound
	}
	return answer.Values, err
}

// values passes each row to add, with its number.
func values(text json.RawMessage, add func(number int, shownCells, storedCells []*string) error) error {
	in := json.NewDecoder(bytes.NewReader(text))
	if _, err := in.Token(); err != nil {
		return nil //nolint:nilerr // a tab without values has none at all
	}
	for number := 1; in.More(); number++ {
		var row []string
		if err := in.Decode(&row); err != nil {
			return source.ErrSheetFailed // without err, which may quote a cell
		}
		shownCells := make([]*string, min(len(row), column.MaxColumns))
		for i := range shownCells {
			shownCells[i] = column.CellOf(row[i], column.MaxValue)
		}
		if err := add(number, shownCells, nil); err != nil {
			return err
		}
	}
	return nil
}
