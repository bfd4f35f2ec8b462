package google

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/adapters/sheet/upstream"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

// maxAnswer is the most that is read from a response, in bytes.
const maxAnswer = 8 << 20

// The masks select a response's fields, and so its size.
const (
	maskTabs = "properties.title,sheets.properties(sheetId,title,hidden,sheetType," +
		"gridProperties(rowCount,columnCount))"
	maskValues = "values"
)

// book has a sheet's title and tabs.
type book struct {
	title string
	tabs  []source.Tab
}

// tabs fetches a sheet's title and tabs. Tabs that are not grids (charts, connected data) are left out.
func (s *Sheets) tabs(ctx context.Context, reader *account, sheet string) (book, error) {
	var answer struct {
		Properties struct{ Title string }
		Sheets     []struct {
			Properties struct {
				SheetID        int64
				Title          string
				Hidden         bool
				SheetType      string
				GridProperties struct{ RowCount, ColumnCount int }
			}
		}
	}
	if err := s.get(ctx, reader, url.PathEscape(sheet), url.Values{"fields": {maskTabs}}, &answer); err != nil {
		return book{}, err
	}
	b := book{title: source.TabTitle(answer.Properties.Title)}
	for _, one := range answer.Sheets {
		p := one.Properties
		if (p.SheetType != "" && p.SheetType != "GRID") || len(b.tabs) == source.MaxTabs {
			continue
		}
		b.tabs = append(b.tabs, source.Tab{
			ID: strconv.FormatInt(p.SheetID, 10), Title: source.TabTitle(p.Title), Hidden: p.Hidden,
			Rows: p.GridProperties.RowCount, Columns: p.GridProperties.ColumnCount,
		})
	}
	return b, nil
}

// values requests a tab's first rows, the first tab's if title is empty.
func (s *Sheets) values(
	ctx context.Context, reader *account, sheet, title string, headerRow int,
) (column.Preview, error) {
	var answer struct{ Values [][]string }
	query := url.Values{"fields": {maskValues}, "majorDimension": {"ROWS"}, "valueRenderOption": {"FORMATTED_VALUE"}}
	if err := s.get(ctx, reader, url.PathEscape(sheet)+"/values/"+url.PathEscape(a1(title, headerRow)), query,
		&answer); err != nil {
		if errors.Is(err, errBadRequest) {
			return column.Preview{}, source.ErrTabNotFound
		}
		return column.Preview{}, err
	}
	rows := make([][]*string, len(answer.Values))
	for i, row := range answer.Values {
		for _, v := range row {
			rows[i] = append(rows[i], column.Cell(v))
		}
	}
	return column.Examine(rows, headerRow), nil
}

// errBadRequest means that Google refused a request as invalid, for example because the tab does not exist.
var errBadRequest = errors.New("a request that Google refused")

func (s *Sheets) get(ctx context.Context, reader *account, path string, query url.Values, value any) error {
	return s.read(ctx, reader, path, query, maxAnswer, value)
}

// read is get for a response of at most so many bytes.
func (s *Sheets) read(
	ctx context.Context, reader *account, path string, query url.Values, limit int64, value any,
) error {
	response, err := s.send(ctx, reader, path, query)
	if err == nil && response.StatusCode == http.StatusUnauthorized && reader.tokens != nil {
		// Google ended the token early. A new one shows whether it also ended what the token was for.
		_ = response.Body.Close()
		reader.tokens.forget()
		response, err = s.send(ctx, reader, path, query)
	}
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was read from
	body := &io.LimitedReader{R: response.Body, N: limit}
	if response.StatusCode != http.StatusOK {
		return reader.refusal(response, body)
	}
	if err := json.NewDecoder(body).Decode(value); err != nil {
		if body.N <= 0 {
			return source.ErrFileTooLarge
		}
		return upstream.Unreachable(err)
	}
	return nil
}

// send sends one request, if the account's budget permits it.
func (s *Sheets) send(ctx context.Context, reader *account, path string, query url.Values) (*http.Response, error) {
	if wait := s.wait(reader); wait > 0 {
		return nil, source.ErrSheetRateLimited.WithRetryAfter(wait)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.config.API+"/v4/spreadsheets/"+path+"?"+
		query.Encode(), nil)
	if err != nil {
		return nil, source.ErrSheetFailed
	}
	if err := reader.sign(request); err != nil {
		return nil, err
	}
	response, err := s.config.Client.Do(request)
	if err != nil {
		return nil, upstream.Unreachable(err)
	}
	return response, nil
}

// wait returns how long to wait before the account may ask again, 0 if it may now.
func (s *Sheets) wait(reader *account) time.Duration {
	now := s.now()
	r := reader.budget.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// refusal returns the fault for a response other than 200, by its status and its machine-readable reason
// (https://cloud.google.com/apis/design/errors).
func (a *account) refusal(r *http.Response, body io.Reader) error {
	var answer struct {
		Error struct {
			Status  string
			Details []struct{ Reason string }
		}
	}
	_ = json.NewDecoder(body).Decode(&answer) // without it, the status says enough
	reason := ""
	for _, d := range answer.Error.Details {
		if d.Reason != "" {
			reason = d.Reason
		}
	}
	switch {
	case reason == "SERVICE_DISABLED":
		return source.ErrSheetNotShared.Because("The Google Sheets API is turned off in the project of this " +
			"workspace's service account. Turn it on there.")
	case reason == "API_KEY_INVALID":
		return source.ErrSheetFailed // which the operator must fix
	case r.StatusCode == http.StatusForbidden && a.email != "":
		return source.ErrSheetNotShared.Because("Atrium may not read this sheet. Share it, for viewing, with " +
			a.email + ".")
	case answer.Error.Status == "FAILED_PRECONDITION": // a file of another program that is only stored at Google
		return source.ErrUnsupportedFormat
	case r.StatusCode == http.StatusBadRequest:
		return errBadRequest
	}
	return upstream.Refusal(r.StatusCode, r.Header)
}
