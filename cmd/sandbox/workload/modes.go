package main

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// fillStep is how much memory each step of mode fill takes.
	fillStep  = 8 << 20
	fillPause = 20 * time.Millisecond
	// exitPause is the time for the answer to /exit to be sent.
	exitPause = 50 * time.Millisecond
)

// server is what mode serve is.
type server struct {
	opened sync.Once
	ready  atomic.Bool
	codes  chan int // that the program exits with
}

func newServer() *server { return &server{codes: make(chan int, 1)} }

// serve answers until the program exits by itself or is asked to.
func serve(o *options) int {
	s := newServer()
	go func() {
		say("FAILED", http.ListenAndServe(fmt.Sprint(":", o.port), s.handler()))
		s.exit(2)
	}()
	if o.exitAfter > 0 {
		time.AfterFunc(o.exitAfter, func() { s.exit(o.code) })
	}
	if !o.closed {
		time.AfterFunc(o.readyAfter, s.open)
	}
	return <-s.codes
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) {
		if !s.ready.Load() {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/open", func(http.ResponseWriter, *http.Request) { s.open() })
	// The way to crash the container of a pod that runs.
	mux.HandleFunc("/exit", func(http.ResponseWriter, *http.Request) {
		time.AfterFunc(exitPause, func() { s.exit(7) })
	})
	return mux
}

// open makes the server ready, and says so once.
func (s *server) open() {
	s.opened.Do(func() {
		say("READY") // before the first answer that is OK
		s.ready.Store(true)
	})
}

// exit makes the program exit with a code, unless it is exiting already.
func (s *server) exit(code int) {
	select {
	case s.codes <- code:
	default:
	}
}

// get returns 0 if the workload that serves in the same pod answers OK.
func get(port int, path string) int {
	response, err := http.Get(fmt.Sprint("http://127.0.0.1:", port, path))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		fmt.Fprintln(os.Stderr, response.Status)
		return 1
	}
	return 0
}

// fill never returns. It takes memory, in MiB, or if that is 0 all memory until the program is killed.
func fill(memory int) {
	var taken [][]byte
	for memory == 0 || len(taken)*fillStep>>20 < memory {
		chunk := make([]byte, fillStep)
		for i := 0; i < len(chunk); i += os.Getpagesize() {
			chunk[i] = 1
		}
		taken = append(taken, chunk)
		say("FILLED", len(taken)*fillStep>>20, "MiB")
		time.Sleep(fillPause)
	}
	<-make(chan struct{})
	runtime.KeepAlive(taken)
}

func write(file, text string) int {
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		say("FAILED", err)
		return 1
	}
	say("WROTE", text)
	return 0
}

func read(file, text string) int {
	content, err := os.ReadFile(file)
	if err != nil {
		say("FAILED", err)
		return 1
	}
	say("READ", string(content))
	if !strings.Contains(string(content), text) {
		return 1
	}
	return 0
}
