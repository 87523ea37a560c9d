package containerlogs

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// pollPause is the time between two looks for new files. A kubelet removes the log of a container that ended once the next one of
// the same name has ended, or when the pod is deleted.
const pollPause = 200 * time.Millisecond

// Collector reads the logs of all containers of all real nodes while they run. It keeps what it has read: kubelets remove the logs
// of containers that ended.
type Collector struct {
	dir  string
	stop chan struct{}
	done sync.WaitGroup

	lock  sync.Mutex
	files map[fileID]*logFile
}

// fileID tells a file from another one that later has the same path.
type fileID struct {
	path   string
	number uint64
}

// logFile is a file that is held open, so that it can be read to its end when it has been removed.
type logFile struct {
	file *os.File
	from Line // without time and text
	rest []byte
	read Lines
}

// Collect begins to read the logs of the nodes below dir, the directory real-nodes of a sandbox, until Stop is called.
func Collect(dir string) *Collector {
	c := &Collector{dir: dir, stop: make(chan struct{}), files: map[fileID]*logFile{}}
	c.done.Go(func() {
		for {
			c.poll()
			select {
			case <-c.stop:
				return
			case <-time.After(pollPause):
			}
		}
	})
	return c
}

// Stop ends the collecting.
func (c *Collector) Stop() {
	close(c.stop)
	c.done.Wait()
	for _, f := range c.files {
		_ = f.file.Close() // it was only read
	}
}

// Lines returns what the containers of a namespace have said so far, in the order of time.
func (c *Collector) Lines(namespace string) Lines {
	c.poll()
	c.lock.Lock()
	defer c.lock.Unlock()
	var lines Lines
	for _, f := range c.files {
		if f.from.Namespace == namespace {
			lines = append(lines, f.read...)
		}
	}
	slices.SortStableFunc(lines, compare)
	return lines
}

// compare puts lines of the same millisecond into an order that does not change.
func compare(a, b Line) int {
	if c := a.Time.Compare(b.Time); c != 0 {
		return c
	}
	if c := strings.Compare(a.UID+a.Container, b.UID+b.Container); c != 0 {
		return c
	}
	return a.Restart - b.Restart
}

// poll reads what is new.
func (c *Collector) poll() {
	c.lock.Lock()
	defer c.lock.Unlock()
	paths, _ := filepath.Glob(filepath.Join(c.dir, "*", "log", "pods", "*", "*", "*.log")) // the pattern is well-formed
	for _, path := range paths {
		c.open(path)
	}
	for _, f := range c.files {
		f.readOn()
	}
}

func (c *Collector) open(path string) {
	from, ok := parsePath(path)
	if !ok {
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		return // removed meanwhile
	}
	id := fileID{path, info.Sys().(*syscall.Stat_t).Ino}
	if c.files[id] != nil {
		return
	}
	if file, err := os.Open(path); err == nil {
		c.files[id] = &logFile{file: file, from: from}
	}
}

// parsePath reads NODE/log/pods/NAMESPACE_POD_UID/CONTAINER/RESTART.log.
func parsePath(path string) (Line, bool) {
	parts := strings.Split(path, string(filepath.Separator))
	if len(parts) < 6 {
		return Line{}, false
	}
	parts = parts[len(parts)-6:]
	pod := strings.Split(parts[3], "_")
	restart, err := strconv.Atoi(strings.TrimSuffix(parts[5], ".log"))
	if len(pod) != 3 || err != nil {
		return Line{}, false
	}
	return Line{Node: parts[0], Namespace: pod[0], Pod: pod[1], UID: pod[2], Container: parts[4], Restart: restart}, true
}

// readOn reads whole lines. What follows the last end of a line is still being written.
func (f *logFile) readOn() {
	var added bytes.Buffer
	_, _ = added.ReadFrom(f.file) // what cannot be read now is read next time
	content := append(f.rest, added.Bytes()...)
	end := bytes.LastIndexByte(content, '\n') + 1
	f.rest = slices.Clone(content[end:])
	scanner := bufio.NewScanner(bytes.NewReader(content[:end]))
	for scanner.Scan() {
		if l, ok := parseLine(f.from, scanner.Text()); ok {
			f.read = append(f.read, l)
		}
	}
}

// parseLine reads a line as container runtimes write it: TIME STREAM TAGS TEXT. The text may begin with a time of its own.
func parseLine(from Line, text string) (Line, bool) {
	fields := strings.SplitN(text, " ", 4)
	if len(fields) < 4 {
		return Line{}, false
	}
	read, err := time.Parse(time.RFC3339Nano, fields[0])
	if err != nil {
		return Line{}, false
	}
	l := from
	l.Time, l.Text = read, fields[3]
	if first, rest, found := strings.Cut(l.Text, " "); found {
		if said, err := time.Parse(time.RFC3339Nano, first); err == nil {
			l.Time, l.Text = said, rest
		}
	}
	return l, true
}
