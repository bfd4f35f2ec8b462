package databricks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

const statements = "/api/2.0/sql/statements"

// maxResult is a little less than the API's limit for results within responses, 25 MiB. A result above the API's limit
// fails with an error that only its text distinguishes from others; a result above ours is marked as truncated.
const maxResult = 24 << 20

// The pauses between requests for a statement's status. Each is twice as long as the previous one.
const (
	minPause = 20 * time.Millisecond
	maxPause = 500 * time.Millisecond
)

// sending is how long a cancelled call waits for the identifier of the statement that it just sent, to cancel it.
const sending = 100 * time.Millisecond

// order is a request's body to run a statement.
type order struct {
	Statement   string      `json:"statement"`
	Warehouse   string      `json:"warehouse_id"`
	Catalog     string      `json:"catalog"`
	Disposition string      `json:"disposition"`
	Format      string      `json:"format"`
	Wait        string      `json:"wait_timeout"`
	Bytes       int64       `json:"byte_limit"`
	Parameters  []parameter `json:"parameters,omitempty"`
}

// parameter is a value for a marker, such as :name.
type parameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Type  string `json:"type"`
}

func textParameter(name, value string) parameter {
	return parameter{Name: name, Value: value, Type: "STRING"}
}

// response describes a statement.
type response struct {
	ID     string `json:"statement_id"`
	Status struct {
		State string `json:"state"`
		Error struct {
			Code    string `json:"error_code"`
			Message string `json:"message"`
		} `json:"error"`
		SQLState string `json:"sql_state"`
	} `json:"status"`
	Manifest *struct {
		Truncated bool `json:"truncated"`
	} `json:"manifest"`
	Result chunk `json:"result"`
}

// chunk is a result part.
type chunk struct {
	Next *int            `json:"next_chunk_index"`
	Data json.RawMessage `json:"data_array"` // as values, short ones would take ten times as much memory
}

// each passes a chunk's rows to do.
func (c chunk) each(handle func([]*string) error) error {
	if len(c.Data) == 0 || string(c.Data) == "null" {
		return nil // a result without rows
	}
	in := json.NewDecoder(bytes.NewReader(c.Data))
	if token, err := in.Token(); err != nil || token != json.Delim('[') {
		return connection.NotThisDatabase
	}
	for in.More() {
		var row []*string
		if in.Decode(&row) != nil {
			return connection.NotThisDatabase // without the error, which may quote a value
		}
		if err := handle(row); err != nil {
			return err
		}
	}
	if _, err := in.Token(); err != nil {
		return connection.NotThisDatabase
	}
	return nil
}

// query runs one statement and returns its rows; nil for NULL. All its columns must be texts.
func (s *session) query(sql string, parameters ...parameter) (rows [][]*string, err error) {
	err = s.run(sql, parameters, func(row []*string) error {
		rows = append(rows, row)
		return nil
	})
	return rows, err
}

// run runs one statement, and passes its rows to do. Whatever ends the call, the statement has ended at the
// server, or has been told to: the API has no timeout that the server applies.
func (s *session) run(sql string, parameters []parameter, handle func([]*string) error) error {
	ctx, cancel := context.WithTimeout(s.ctx, s.to.Limits.Statement)
	defer cancel()
	r, err := s.send(ctx, order{
		Statement: sql, Warehouse: s.warehouse, Catalog: s.catalog, Disposition: "INLINE", Format: "JSON_ARRAY",
		Wait: "0s", Bytes: maxResult, Parameters: parameters,
	})
	if err != nil {
		return warehouse.UnlessCanceled(s.ctx, err)
	}
	if r, err = s.await(ctx, r); err != nil {
		s.end(r.ID)
		return warehouse.UnlessCanceled(s.ctx, err)
	}
	if err := r.failure(); err != nil {
		return err
	}
	part := r.Result
	for index := 1; ; index++ {
		if err := part.each(handle); err != nil {
			return err
		}
		if part.Next == nil {
			return nil
		}
		if *part.Next != index { // it would not end
			return connection.NotThisDatabase
		}
		// The statement has ended; only the call as a whole limits the time of fetching its rows.
		fetching, cancel := context.WithTimeout(s.ctx, s.to.Limits.Statement)
		part = chunk{}
		err := s.call(fetching, http.MethodGet, "/"+r.ID+"/result/chunks/"+strconv.Itoa(index), nil, &part)
		cancel()
		if err != nil {
			return warehouse.UnlessCanceled(s.ctx, err)
		}
	}
}

// send sends a statement. The answer has its identifier, without which it cannot be cancelled: so send waits a little
// longer for it than its caller does.
func (s *session) send(ctx context.Context, o order) (response, error) {
	end, _ := ctx.Deadline()
	patient, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(sending, cancel) })()
	var r response
	if err := s.call(patient, http.MethodPost, "", o, &r); err != nil {
		return response{}, err
	}
	if !isID(r.ID) {
		return response{}, connection.NotThisDatabase
	}
	s.accepted = true
	return r, nil
}

// await returns a statement's last state. The error is connection.ServerStarting if the warehouse has not started when
// ctx ends.
func (s *session) await(ctx context.Context, r response) (response, error) {
	for pause := minPause; r.isRunning(); pause = min(2*pause, maxPause) {
		select {
		case <-ctx.Done():
			if r.Status.State == "PENDING" {
				return r, connection.ServerStarting
			}
			return r, connection.QueryTimeout
		case <-time.After(pause):
		}
		var next response
		err := s.call(ctx, http.MethodGet, "/"+r.ID, nil, &next)
		if errors.Is(err, connection.QueryTimeout) && r.Status.State == "PENDING" {
			err = connection.ServerStarting
		}
		if err != nil {
			return r, err
		}
		next.ID = r.ID
		r = next
	}
	return r, nil
}

func (r response) isRunning() bool { return r.Status.State == "PENDING" || r.Status.State == "RUNNING" }

// end cancels a statement at the server, through another connection.
func (s *session) end(id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), warehouse.CancelTimeout)
	defer cancel()
	web, err := s.dial(ctx, nil)
	if err != nil {
		return
	}
	defer web.Close()
	other := *s
	other.web = web
	_ = other.call(ctx, http.MethodPost, "/"+id+"/cancel", nil, nil)
}

// call makes one request to the API, and decodes a response of 200 into answer.
func (s *session) call(ctx context.Context, method, path string, body, result any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return connection.Internal
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, "https://"+s.at.host+statements+path, bytes.NewReader(text))
	if err != nil {
		return connection.Internal
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "atrium")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := s.web.Do(ctx, r)
	switch {
	case err != nil:
		return err
	case answer.Status != http.StatusOK:
		return refusal(answer)
	case result == nil:
		return nil
	}
	if err := json.Unmarshal(answer.Body, result); err != nil {
		return connection.NotThisDatabase
	}
	return nil
}

// isID reports whether s can be a statement's identifier, which becomes a part of paths.
func isID(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= 64
}
