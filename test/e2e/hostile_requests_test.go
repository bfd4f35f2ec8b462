package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/test/support/proof"
)

// attacks are hostile inputs on a connection, with the expected reactions. An error says what was expected.
var attacks = map[string]func(*rawConnection) error{
	"a header that comes byte by byte": func(c *rawConnection) error {
		return c.trickle("GET /api/me HTTP/1.1\r\nHost: a\r\nX-Slow: ", "x", 10*time.Second)
	},
	"a body that comes byte by byte": func(c *rawConnection) error {
		return c.trickle(c.post("Content-Length: 60000"), " ", 10*time.Second)
	},
	"a body in chunks that come byte by byte": func(c *rawConnection) error {
		return c.trickle(c.post("Transfer-Encoding: chunked"), "1\r\n \r\n", 10*time.Second)
	},
	"nothing at all": func(c *rawConnection) error { return c.trickle("", "", 10*time.Second) },
	"a body that is announced and absent": func(c *rawConnection) error {
		return c.trickle(c.post("Content-Length: 100"), "", 10*time.Second)
	},
	"a body longer than announced": func(c *rawConnection) error {
		return c.refused(c.post("Content-Length: 2")+"{}x GARBAGE\r\n\r\n", 422, 400)
	},
	"a body shorter than announced, and the end": func(c *rawConnection) error {
		if err := c.writes(c.post("Content-Length: 100") + "{}"); err != nil {
			return err
		}
		if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
		return c.answers(400)
	},
	"a length that is none": func(c *rawConnection) error {
		for _, length := range []string{"-1", "+2", "0x2", "2 2", "99999999999999999999", "2\x00"} {
			if err := c.again(c.post("Content-Length: "+length)+"{}", 400); err != nil {
				return fmt.Errorf("Content-Length: %q: %w", length, err)
			}
		}
		return nil
	},
	"chunks that are none": func(c *rawConnection) error {
		for _, chunks := range []string{"zz\r\n{}\r\n0\r\n\r\n", "ffffffffffffffff\r\n{}", "fffffffffffffffff\r\n{}",
			"-2\r\n{}\r\n0\r\n\r\n", "2\r\n{}xx0\r\n\r\n", "2;" + strings.Repeat("e", 5000) + "\r\n{}\r\n0\r\n\r\n",
			"\r\n\r\n"} {
			if err := c.again(c.post("Transfer-Encoding: chunked")+chunks, 400, 422); err != nil {
				return fmt.Errorf("%.20q: %w", chunks, err)
			}
		}
		return nil
	},
	// chunks win (RFC 9112, section 6.3), and nothing is smuggled behind them
	"a length beside chunks": func(c *rawConnection) error {
		return c.refused(c.post("Content-Length: 57\r\nTransfer-Encoding: chunked")+
			"0\r\n\r\nGET /api/health/live HTTP/1.1\r\nHost: smuggled.\x00\r\n\r\n", 422, 400)
	},
	"two lengths, and codings that hide": func(c *rawConnection) error {
		for _, header := range []string{
			"Content-Length: 2\r\nContent-Length: 40", "Content-Length: 2, 40",
			"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "Transfer-Encoding: xchunked",
			"Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, chunked",
			"Transfer-Encoding : chunked", "Transfer-Encoding:\x0bchunked",
			"X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: x", "Transfer-Encoding: \"chunked\"",
			"Content-Length : 2", "Content_Length: 2\r\nContent-Length: 2\x00",
		} {
			if err := c.again(c.post(header)+"{}GET /api/health/live HTTP/1.1\r\nHost: a\r\n\r\n", 400,
				501); err != nil {
				return fmt.Errorf("%q: %w", header, err)
			}
		}
		return nil
	},
	"what is no HTTP/1": func(c *rawConnection) error {
		for _, text := range []string{
			"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
			"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 600), "GET /api/me\r\n\r\n",
			"GET /api/me HTTP/9.9\r\n\r\n", "\x00\x00\x00\x00\r\n\r\n", "SSH-2.0-OpenSSH\r\n\r\n",
			"GET  /api/me HTTP/1.1\r\nHost: a\r\n\r\n", "GET /api/me HTTP/1.1\r\n\r\n",
			"GET /api/me HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
			"GET /api/me HTTP/1.1\r\nHost: a\r\nBad Name: x\r\n\r\n", "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n",
			"GET api/me HTTP/1.1\r\nHost: a\r\n\r\n",
			"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n", "G\x00T / HTTP/1.1\r\nHost: a\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n",
		} {
			if err := c.again(text, 400, 404, 505); err != nil { // 404: the preface of HTTP/2 asks for a path of *
				return fmt.Errorf("%.30q: %w", text, err)
			}
		}
		return nil
	},
	"targets of proxies": func(c *rawConnection) error { // of which this is none
		for _, line := range []string{"CONNECT evil.example:443 HTTP/1.1", "GET http://evil.example/api/me HTTP/1.1",
			"OPTIONS * HTTP/1.1"} {
			if err := c.again(line+"\r\nHost: a\r\n\r\n", 200, 400, 401, 404, 405); err != nil {
				return fmt.Errorf("%s: %w", line, err)
			}
		}
		return nil
	},
	"a header of more than 32 KiB": func(c *rawConnection) error {
		return c.refused("GET /api/me HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("x", 40<<10)+"\r\n\r\n", 431)
	},
	"a header of one line and another and another": func(c *rawConnection) error {
		return c.refused("GET /api/me HTTP/1.1\r\nHost: a\r\n"+strings.Repeat("X: y\r\n", 100_000)+"\r\n", 431)
	},
	"a target of more than 32 KiB": func(c *rawConnection) error {
		return c.refused("GET /"+strings.Repeat("x", 40<<10)+" HTTP/1.1\r\nHost: a\r\n\r\n", 431)
	},
	"5,000 lines within 32 KiB": func(c *rawConnection) error {
		if err := c.writes(c.me(strings.Repeat("a:\r\n", 5000))); err != nil {
			return err
		}
		return c.answers(200)
	},
	"a body of more than it takes, in chunks without end": func(c *rawConnection) error {
		chunk := "10000\r\n" + strings.Repeat(" ", 0x10000) + "\r\n"
		return c.refused(c.post("Transfer-Encoding: chunked")+strings.Repeat(chunk, 20), 413)
	},
	"trailers without end": func(c *rawConnection) error {
		return c.refused(c.post("Transfer-Encoding: chunked")+"2\r\n{}\r\n0\r\n"+strings.Repeat("X: y\r\n", 20_000)+
			"\r\n", 400, 413, 422)
	},
	"a hundred requests at once": func(c *rawConnection) error {
		if err := c.writes(strings.Repeat(c.me("")+c.post("Content-Length: 2")+"{}", 50)); err != nil {
			return err
		}
		for i := range 50 {
			if err := c.answers(200); err != nil {
				return fmt.Errorf("pair %d: %w", i, err)
			}
			if err := c.answers(422); err != nil {
				return fmt.Errorf("pair %d: %w", i, err)
			}
		}
		return nil
	},
	"good requests after bad ones, on the same connection": func(c *rawConnection) error {
		for _, step := range []struct {
			text   string
			status int
		}{
			{"GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", 404}, {"GET /api/me HTTP/1.1\r\nHost: a\r\n\r\n", 401},
			{c.post("Content-Length: 1") + "{", 400},
			{"PUT /api/me HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}", 405},
			{"POST /api/prompt-templates HTTP/1.1\r\nHost: a\r\nContent-Length: 30000\r\n\r\n" +
				strings.Repeat("x", 30_000), 401}, {c.me(""), 200}, {c.me("Content-Length: 5\r\n") + "12345", 200},
			{c.me(""), 200},
		} {
			if err := c.writes(step.text); err != nil {
				return err
			}
			if err := c.answers(step.status); err != nil {
				return fmt.Errorf("%.40q: %w", step.text, err)
			}
		}
		return nil
	},
	"requests whose sender does not wait for the answer": func(c *rawConnection) error {
		return c.writes(strings.Repeat(c.me(""), 20))
	},
}

func (c *rawConnection) me(header string) string {
	return "GET /api/me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " +
		c.token + "\r\n" + header + "\r\n"
}

// post begins a request that creates a template. A body of {} is invalid.
func (c *rawConnection) post(header string) string {
	return "POST /api/prompt-templates HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" +
		"Authorization: Bearer " +
		c.token + "\r\n" + header + "\r\n\r\n"
}

func (c *rawConnection) writes(text string) error {
	_, err := c.Write([]byte(text))
	return err
}

// trickle sends a text and then a piece ten times per second, and expects that the server ends the connection within a
// time.
func (c *rawConnection) trickle(begin, piece string, limit time.Duration) error {
	if err := c.writes(begin); err != nil {
		return err
	}
	endedErrs := make(chan error, 1)
	go func() {
		_, _, err := c.answer()
		endedErrs <- err
	}()
	startAt, tick := time.Now(), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-endedErrs:
			if took := time.Since(startAt); proof.Running() && took > limit {
				return fmt.Errorf("the server bore it for %v", took)
			}
			return err
		case <-tick.C:
			_ = c.writes(piece) // into nothing, if it has ended
		}
	}
}

// refused expects one of some answers, and the connection's end after it or after a complaint about what follows.
func (c *rawConnection) refused(text string, statuses ...int) error {
	status, closes, err := c.ask(text)
	if err != nil {
		return err
	}
	if status != 0 && !slices.Contains(statuses, status) { // 0: the end came before the answer could be read
		return fmt.Errorf("answered %d", status)
	}
	for range 2 {
		if closes {
			return nil
		}
		if status, closes, err = c.answer(); err != nil {
			return err
		}
		if status == 200 {
			return errors.New("what followed was taken for a request")
		}
	}
	return errors.New("the connection stays open")
}

// again is refused on a new connection, where only a successful response may keep the connection open.
func (c *rawConnection) again(text string, statuses ...int) error {
	s := &server{url: "http://" + c.RemoteAddr().String()}
	fresh, err := s.dial(c.token)
	if err != nil {
		return err
	}
	defer fresh.Close()
	status, closes, err := fresh.ask(text)
	if err != nil {
		return err
	}
	if status != 0 && !slices.Contains(statuses, status) {
		return fmt.Errorf("answered %d", status)
	}
	if closes || status == 0 {
		return nil
	}
	if half, ok := fresh.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	if status, _, err = fresh.answer(); err == nil && status == 200 {
		return errors.New("what followed was taken for a request")
	}
	return err
}

// answers expects a status.
func (c *rawConnection) answers(want int) error {
	status, _, err := c.answer()
	if err == nil && status != want {
		err = fmt.Errorf("answered %d, want %d", status, want)
	}
	return err
}
