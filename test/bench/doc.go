// Package bench measures what order costs, beside what people use instead. Each row of its table is a question; the variants that
// answer it are measured in turn, A B, B A, A B, on the same machine in the same run, so that what is slow about the machine is slow for
// all. `make bench` measures all rows and writes docs/proof/benchmarks.md, `make bench ROW=5` one of them, and `make bench SHORT=1`
// tries all of them with small numbers, several variants at a time: their times mean nothing, what they count does.
//
// What measures is in the package's tests: rows 1 to 4 run upstream's scheduler_perf (see schedulerperf), row 8 the benchmarks of the
// engine, the others a control plane with our real programs. There the benchmark plays the kubelets, so that it knows to the moment
// when a pod was ready. What people use instead is in the files named alternative; rows 12 and 13 run it in processes of its own.
package bench
