// Package childprocess starts processes that are to end with this one.
package childprocess

import (
	"os/exec"
	"runtime"
	"sync"
)

// starter returns the tasks of a goroutine that never leaves its thread.
var starter = sync.OnceValue(func() chan<- func() {
	tasks := make(chan func())
	go func() {
		runtime.LockOSThread()
		for task := range tasks {
			task()
		}
	}()
	return tasks
})

// Start starts a command from a thread that lasts as long as this process. Linux sends the parent-death signal of a child when the
// thread that started it ends, not when the whole parent does.
func Start(command *exec.Cmd) error {
	result := make(chan error)
	starter() <- func() { result <- command.Start() }
	return <-result
}
