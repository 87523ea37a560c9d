// Workload is the program in the containers of real nodes. It prints what it does, each line with its time, so that a test can
// compare what containers did with what the API says of them.
//
//	workload [flags] serve            answers /ready on -port, and runs until it is stopped
//	workload [flags] exit             exits after -exit-after with -code
//	workload [flags] fill             takes -memory MiB and holds them, or takes memory until it is killed
//	workload [flags] write            writes -text to -file, and exits
//	workload [flags] read             reads -file, exits 0 if it contains -text, otherwise 1
//	workload [flags] registry         serves images of this program on -listen, each layer after -ready-after
//	workload [flags] get              asks the workload in the same pod for -path, exits 0 if it answers OK, otherwise 1
//	workload [flags] device-plugin    offers -devices of the extended resource -resource to the kubelet
//	workload [flags] csi-driver       serves volumes of the CSI driver -driver, with a file that has -text in it
//
// Each line is a time (RFC 3339, UTC, with milliseconds), a word in capitals and its details:
//
//	2026-11-25T12:00:00.000Z STARTED serve
//	2026-11-25T12:00:03.000Z READY
//	2026-11-25T12:00:09.000Z STOPPED terminated
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// options are the flags. Each mode uses some of them.
type options struct {
	readyAfter time.Duration
	closed     bool
	exitAfter  time.Duration
	stopAfter  time.Duration
	code       int
	say        string
	file, text string
	path       string
	listen     string
	port       int
	memory     int
	resource   string
	devices    int
	driver     string
}

func main() {
	o := &options{}
	flag.DurationVar(&o.readyAfter, "ready-after", 0, "`time` until /ready answers OK, or until the registry sends a layer")
	flag.BoolVar(&o.closed, "closed", false, "answer OK to /ready only after somebody got /open, whenever that is")
	flag.DurationVar(&o.exitAfter, "exit-after", 0, "`time` until the program exits; 0 exits at once in mode exit, and never in mode serve")
	flag.DurationVar(&o.stopAfter, "stop-after", 0, "`time` that the program takes to end after SIGTERM")
	flag.IntVar(&o.code, "code", 0, "exit `code`")
	flag.StringVar(&o.say, "say", "", "`text` to print when the program starts, after its mode; $NAME is the value of an environment variable")
	flag.StringVar(&o.file, "file", "", "`path` of the file to write or read")
	flag.StringVar(&o.text, "text", "", "`text` to write, or to expect, or of the CSI driver's files")
	flag.StringVar(&o.path, "path", "/ready", "`path` to get")
	flag.StringVar(&o.listen, "listen", "127.0.0.1:5000", "`address` of the registry")
	flag.IntVar(&o.port, "port", 8080, "`port` that mode serve answers on")
	flag.IntVar(&o.memory, "memory", 0, "`MiB` that mode fill takes; 0 is all that there are")
	flag.StringVar(&o.resource, "resource", "example.com/gpu", "extended `resource` of the device plugin")
	flag.IntVar(&o.devices, "devices", 1, "`number` of devices of the device plugin")
	flag.StringVar(&o.driver, "driver", "greetings.example.com", "`name` of the CSI driver")
	flag.Parse()
	mode := flag.Arg(0)
	if flag.NArg() > 1 { // flags may follow the mode, too
		_ = flag.CommandLine.Parse(flag.Args()[1:]) // it exits on errors
	}
	if mode == "get" { // a probe, whose output is not read
		os.Exit(get(o.port, o.path))
	}
	say("STARTED", mode, os.ExpandEnv(o.say))
	exit(run(mode, o))
}

// run returns the exit code.
func run(mode string, o *options) int {
	switch mode { // these have to end their registration before they stop
	case "device-plugin":
		return devicePlugin(o)
	case "csi-driver":
		return csiDriver(o)
	}
	go stopOnSignal(o.stopAfter)
	switch mode {
	case "serve":
		return serve(o)
	case "exit":
		time.Sleep(o.exitAfter)
		return o.code
	case "fill":
		fill(o.memory)
	case "registry":
		return serveRegistry(o.listen, o.readyAfter)
	case "write":
		return write(o.file, o.text)
	case "read":
		return read(o.file, o.text)
	}
	say("FAILED", "unknown mode", mode)
	return 2
}

var sayLock sync.Mutex

// say prints a line.
func say(word string, details ...any) {
	sayLock.Lock()
	defer sayLock.Unlock()
	line := time.Now().UTC().Format("2006-01-02T15:04:05.000Z") + " " + word
	for _, detail := range details {
		if text := fmt.Sprint(detail); text != "" {
			line += " " + text
		}
	}
	fmt.Println(line)
}

// exit says the code and exits with it.
func exit(code int) {
	say("EXIT", code)
	os.Exit(code)
}

// stopOnSignal ends the program as kubelet asks for it.
func stopOnSignal(after time.Duration) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	received := <-signals
	say("STOPPED", received)
	time.Sleep(after)
	os.Exit(0)
}
