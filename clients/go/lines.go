package atrium

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
)

// lines returns the objects of a response that has one a line, as they come. A response that ends too early has an
// error at its end: an *Error if the server says why. If the loop ends before, the connection is closed.
func lines[T any](ctx context.Context, client *Client, c *call, options []Option) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		one := *c
		one.accept, one.stream = "application/x-ndjson", true
		err := one.prepare(options)
		var res *http.Response
		if err == nil {
			res, err = client.attempts(ctx, &one, func(*http.Response) error { return nil })
		}
		if err != nil {
			yield(zero, err)
			return
		}
		defer res.Body.Close()
		in := bufio.NewReaderSize(res.Body, 64<<10)
		for {
			line, err := in.ReadBytes('\n')
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return
			}
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				yield(zero, &ConnectionError{c.name, err})
				return
			}
			if e := reasonOf(c.name, res, line); e != nil {
				yield(zero, e)
				return
			}
			var item T
			if err := json.Unmarshal(bytes.TrimSpace(line), &item); err != nil {
				yield(zero, &ConnectionError{c.name, errors.New("a line of the response is no JSON")})
				return
			}
			if !yield(item, nil) {
				return
			}
		}
	}
}

// reasonOf returns the reason for which a response is incomplete, which is its last line; nil for any other line.
func reasonOf(name string, res *http.Response, line []byte) *Error {
	var last struct {
		Error *Problem `json:"$error"`
	}
	if !bytes.HasPrefix(line, []byte(`{"$error":`)) || json.Unmarshal(line, &last) != nil || last.Error == nil {
		return nil
	}
	last.Error.Type, last.Error.Title = "/problems/"+last.Error.Code, "Incomplete response"
	last.Error.Status, last.Error.RequestID = res.StatusCode, res.Header.Get("Request-Id")
	return &Error{Call: name, Problem: *last.Error}
}

// archive makes a call whose response is a zip archive, and returns the archive.
func archive(ctx context.Context, client *Client, c *call, options []Option) ([]byte, error) {
	c.accept = "application/zip"
	body, err := client.do(ctx, c, options)
	if err == nil && !bytes.HasPrefix(body, []byte("PK")) {
		return nil, unexpected(c)
	}
	return body, err
}
