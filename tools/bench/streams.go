package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	ownStreams      = 5_000
	operatorStreams = 20
	changesASecond  = 100
	changing        = 15 * time.Second
	opening         = 32 // streams at once
)

// streams opens the streams of many people and of some operators, and lets some people change something
// each second: how long until a change that is posted reaches each reader who sees it, and what a stream
// takes of the server's memory and CPU.
func streams(ctx context.Context, m *machine) error {
	m.section("Streams",
		"", "`POST` itself: p50, p99", "own: p50, p99 (aim ≤ 250 ms)", "operators': p50, p99 (aim ≤ 250 ms)",
		"told to operators", "memory a stream", "CPU, nothing changing", "CPU, changing")
	return m.onEach(ctx, "streams", func(d database, data string) error { return m.streamsOn(ctx, d, data) })
}

func (m *machine) streamsOn(ctx context.Context, d database, data string) error {
	owner, err := m.createUser(ctx, d, data, "owner")
	if err != nil {
		return err
	}
	people, err := crowd(ctx, d, owner, ownStreams+operatorStreams, operatorStreams)
	if err != nil {
		return fmt.Errorf("people: %w", err)
	}
	p, err := m.serveAtrium(ctx, d, data)
	if err != nil {
		return err
	}
	defer p.stop()
	time.Sleep(settles)
	empty, err := p.usage(ctx)
	if err != nil {
		return err
	}
	changes := &changes{sent: make([]atomic.Int64, int(changing.Seconds())*changesASecond)}
	readers, err := changes.follow(ctx, p, people)
	defer func() {
		for _, r := range readers {
			r.Close()
		}
	}()
	if err != nil {
		return err
	}
	time.Sleep(settles)
	begun := time.Now()
	from, err := p.usage(ctx)
	if err != nil {
		return err
	}
	time.Sleep(2 * settles)
	still, err := p.usage(ctx)
	if err != nil {
		return err
	}
	idle := still.since(from).cpu / time.Since(begun).Seconds()
	begun = time.Now()
	posted, err := changes.post(ctx, p, people[operatorStreams:])
	if err != nil {
		return err
	}
	after, err := p.usage(ctx)
	if err != nil {
		return err
	}
	busy := after.since(still).cpu / time.Since(begun).Seconds()
	time.Sleep(settles) // until the last is told
	var own, operators []time.Duration
	for i, r := range readers {
		r.Close()
		<-r.ended
		if r.err != nil {
			return fmt.Errorf("stream %d: %w", i, r.err)
		}
		if i < operatorStreams {
			operators = append(operators, r.took...)
		} else {
			own = append(own, r.took...)
		}
	}
	slices.Sort(own)
	slices.Sort(operators)
	if len(own) != len(changes.sent) {
		return fmt.Errorf("of %d changes, %d were told to those whose they were", len(changes.sent), len(own))
	}
	m.row(d.named(), ms(percentile(posted, 50))+", "+ms(percentile(posted, 99)),
		ms(percentile(own, 50))+", "+ms(percentile(own, 99)), ms(percentile(operators, 50))+", "+
			ms(percentile(operators, 99)),
		fmt.Sprintf("%.0f %%", 100*float64(len(operators))/float64(operatorStreams*len(changes.sent))),
		fmt.Sprintf("%.0f KB", still.since(empty).resident/1e3/float64(len(readers))), cores(idle), cores(busy))
	return nil
}

func cores(n float64) string { return fmt.Sprintf("%.2f cores", n) }

// changes are posted and come back on streams. Each has a number, which is in its text.
type changes struct {
	sent []atomic.Int64 // when, in nanoseconds since 1970
}

const changeText = `"text":"change `

// reader is an open stream.
type reader struct {
	net.Conn
	took  []time.Duration // of each change, until it was told
	err   error           // why it ended, unless it was closed
	ended chan struct{}
}

// follow opens a stream for each of people.
func (c *changes) follow(ctx context.Context, p *program, people []person) ([]*reader, error) {
	readers, errs := make([]*reader, len(people)), make([]error, len(people))
	var next atomic.Int64
	var all sync.WaitGroup
	for range opening {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(people) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				readers[i], errs[i] = c.open(ctx, p, people[i])
			}
		})
	}
	all.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return slices.DeleteFunc(readers, func(r *reader) bool { return r == nil }), err
	}
	return readers, nil
}

func (c *changes) open(ctx context.Context, p *program, who person) (*reader, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.addr)
	if err != nil {
		return nil, err
	}
	r := &reader{Conn: conn, ended: make(chan struct{})}
	request := p.request("GET", presencePath+"/stream?device_id="+crowdDevice, who.Token, "")
	if _, err := r.Write(request); err != nil {
		return r, errors.Join(err, r.Close())
	}
	in := bufio.NewReaderSize(r, 4<<10)
	status, err := in.ReadString('\n')
	if err == nil && status != "HTTP/1.1 200 OK\r\n" {
		err = fmt.Errorf("a stream was answered %q", status)
	}
	if err != nil {
		return r, errors.Join(err, r.Close())
	}
	go c.read(r, in)
	return r, nil
}

// read notes when changes are told, until the stream ends. Chunks are as the server wrote them: each event
// is in one.
func (c *changes) read(r *reader, in *bufio.Reader) {
	defer close(r.ended)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			r.err = err
			return
		}
		now := time.Now().UnixNano()
		for _, found := range bytes.Split(line, []byte(changeText))[1:] {
			number, _, _ := bytes.Cut(found, []byte(`"`))
			if n, err := strconv.Atoi(string(number)); err == nil {
				r.took = append(r.took, time.Duration(now-c.sent[n].Load()))
			}
		}
		line = line[:0]
	}
}

// post changes something of one of people after the other, so many times a second, and returns how long each
// took to be answered.
func (c *changes) post(ctx context.Context, p *program, people []person) ([]time.Duration, error) {
	const workers = 8
	errs, took := make([]error, workers), make([]time.Duration, len(c.sent))
	begun := time.Now()
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			t := p.repeats()
			n := w
			t.make = func(int64) []byte {
				status := []string{"dnd", "online"}[n/len(people)%2]
				return p.request("POST", presencePath, people[n*37%len(people)].Token,
					fmt.Sprintf(`{"device_id":%q,"device_kind":"web","status":%q,%s%d"}`, crowdDevice, status,
						changeText, n))
			}
			var conn *connection
			if conn, errs[w] = t.dial(ctx); errs[w] != nil {
				return
			}
			defer conn.Close()
			for ; n < len(c.sent) && ctx.Err() == nil && errs[w] == nil; n += workers {
				time.Sleep(time.Until(begun.Add(time.Duration(n) * time.Second / changesASecond)))
				c.sent[n].Store(time.Now().UnixNano())
				took[n], errs[w] = conn.ask()
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	return took, errors.Join(append(errs, ctx.Err())...)
}
