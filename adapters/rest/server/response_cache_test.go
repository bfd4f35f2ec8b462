package server

import (
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/ports"
)

func TestAnswersInMemoryAreBounded(t *testing.T) {
	var s responseCache
	now := time.Now()
	body := make([]byte, maxCachedResponseBytes)
	for i := range 1000 {
		s.put(cacheKey{path: strings.Repeat("x", i)},
			cachedResponse{answer: ports.Answer{Body: body}, at: version{generation: 1}, read: now})
		size := 0
		for _, half := range []map[cacheKey]cachedResponse{s.young, s.old} {
			for key, k := range half {
				size += key.size() + len(k.answer.Body)
			}
		}
		if size > maxCacheBytes {
			t.Fatalf("%d bytes are held", size)
		}
	}
	key := cacheKey{path: strings.Repeat("x", 999)}
	if _, isKnown := s.get(&key, version{generation: 1}, now); !isKnown {
		t.Error("the newest response is not cached")
	}
	key.path = ""
	if _, isKnown := s.get(&key, version{generation: 1}, now); isKnown {
		t.Error("the oldest response is still cached")
	}
	tooLarge := ports.Answer{Body: make([]byte, maxCachedResponseBytes+1)}
	s.put(key, cachedResponse{answer: tooLarge, at: version{generation: 1}, read: now})
	if _, isKnown := s.get(&key, version{generation: 1}, now); isKnown {
		t.Error("a response that is too large is cached")
	}
}

func TestAnswersThatAreReadOnceDoNotFillTheMemory(t *testing.T) {
	var s responseCache
	now := time.Now()
	for second := range 100 {
		for i := range 10 {
			moment := now.Add(time.Duration(second)*time.Second + time.Duration(i)*100*time.Millisecond)
			key := cacheKey{path: strings.Repeat("x", 10*second+i)}
			s.put(key, cachedResponse{answer: ports.Answer{Body: []byte("{}")}, at: version{generation: 1},
				read: moment})
			if size := len(s.young) + len(s.old); size > 20 {
				t.Fatalf("%d answers are held, 10 of which can be used", size)
			}
			if _, isKnown := s.get(&key, version{generation: 1}, moment.Add(cacheFresh-1)); !isKnown {
				t.Fatal("an answer is forgotten before its time")
			}
		}
	}
}

func TestAnAnswerOfAnOlderGenerationDoesNotReplaceALaterOne(t *testing.T) {
	s, now := responseCache{}, time.Now()
	store := func(generation uint64, body string) {
		s.put(cacheKey{path: "/"}, cachedResponse{answer: ports.Answer{Body: []byte(body)},
			at: version{generation: generation}, read: now})
	}
	store(2, "after the change")
	store(1, "before the change")
	entry, ok := s.get(&cacheKey{path: "/"}, version{generation: 2}, now)
	if !ok || string(entry.answer.Body) != "after the change" {
		t.Errorf("%q is cached, %v", entry.answer.Body, ok)
	}
	store(3, "after another one")
	entry, _ = s.get(&cacheKey{path: "/"}, version{generation: 3}, now)
	if string(entry.answer.Body) != "after another one" {
		t.Errorf("%q is cached", entry.answer.Body)
	}
}
