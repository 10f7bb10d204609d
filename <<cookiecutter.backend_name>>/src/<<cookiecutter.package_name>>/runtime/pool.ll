; The thread pool of the reference device: runs one kernel over a grid. See pool.py for the Python side.
;
; Programs are claimed in ascending order, a chunk at a time, from an atomic counter. The calling thread claims like
; any other and, once nothing is left to claim, waits only for workers that did claim something: a worker that the
; operating system has not scheduled yet never holds up a launch. Because claims ascend and every claimed program runs
; to its end, a program may wait for programs with lower ids (decoupled look-back) but not for higher ones.
;
; One grid runs in parallel at a time. A second thread that launches meanwhile runs its grid alone; that is always
; right and cannot deadlock. All zero is a valid state of everything below (Linux: also of pthread objects), so the
; child of a fork, which has none of the workers, starts over by zeroing.
;
; RELAX stands for the processor's spin-wait hint.

; What the launcher packs, followed by the 8-byte argument slots of the kernel ABI.
;  0: entry  1: scratch bytes  2: total programs  3: pace  4: threads  5: cooperative  6: grid x, y, z, reserved
%Launch = type { ptr, i64, i64, ptr, i32, i32, [4 x i32] }

; `pace` points to the kernel's time per program as seen in earlier launches, in 1/1024 ns: a grid that is expected to take
; less than 4 us runs on the calling thread, because sharing it out costs as much. A slower launch counts at once, faster
; ones count gradually, and 0 means not known, so that a kernel whose time varies is shared out rather than not.

; A grid in flight, on the stack of the thread that launched it. `next` has a pair of cache lines to itself.
;  0: launch  1: chunk  2: start of the lowest failed chunk (-1: none)  3: its result  4: workers inside
;  5: the first program's workspace, where each has one of its own, else null  6: their distance  8: next unclaimed program
%Job = type { ptr, i64, i64, i64, i64, ptr, i64, [72 x i8], i64, [120 x i8] }

; A workspace is [64 bytes: capacity, launches in a row that could do with an eighth of it][capacity bytes]; kernels get
; the address past the header. A thread keeps its own from launch to launch. The programs of a cooperative launch wait for
; each other, so that none may be left without: they get workspaces that are there before the first of them starts.

; What running programs gives: 0, -1 where there is no workspace, or of a program that trapped the code, in the lower 20
; bits, and above them the program's number.

@mutex = internal global [64 x i8] zeroinitializer, align 64       ; guards everything below but @spare
@work_ready = internal global [64 x i8] zeroinitializer, align 64  ; workers sleep here
@work_done = internal global [64 x i8] zeroinitializer, align 64   ; the launching thread sleeps here
@job = internal global ptr null
@seats = internal global i32 0      ; workers that may still join the job
@workers = internal global i32 0    ; threads started
@sleepers = internal global i32 0   ; of those, how many wait for @work_ready
@waiting = internal global i32 0    ; launching threads that wait for @work_done
@serial = internal global i64 0, align 64  ; number of the newest job; spinning workers read it without the mutex
@spare = internal global ptr null, align 64  ; workspace of launching threads, taken and put back by exchange

declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare i32 @clock_gettime(i32, ptr)
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; Nanoseconds of the monotonic clock.
define internal i64 @now() {
  %time = alloca { i64, i64 }
  %ignored = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr { i64, i64 }, ptr %time, i32 0, i32 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}

; Spins for at most %limit nanoseconds; returns early once (*%word == %value) is %wanted.
define internal void @spin(ptr %word, i64 %value, i1 %wanted, i64 %limit) {
entry:
  %start = call i64 @now()
  br label %burst
burst:
  %n = phi i32 [ 0, %entry ], [ 0, %clock ], [ %n1, %relax ]
  %current = load atomic i64, ptr %word acquire, align 8
  %equal = icmp eq i64 %current, %value
  %reached = icmp eq i1 %equal, %wanted
  br i1 %reached, label %out, label %relax
relax:
  call void asm sideeffect "RELAX", ""()
  %n1 = add i32 %n, 1
  %more = icmp slt i32 %n1, 16
  br i1 %more, label %burst, label %clock
clock:
  %t = call i64 @now()
  %spent = sub i64 %t, %start
  %over = icmp sgt i64 %spent, %limit
  br i1 %over, label %out, label %burst
out:
  ret void
}

; A workspace of at least %bytes: %old where it suits, else a new one and %old is freed. Null: out of memory.
; One of more than 1 MiB does not suit if the last 256 launches could all do with an eighth of it.
define internal ptr @fit(ptr %old, i64 %bytes) {
entry:
  %fresh = alloca ptr
  %none = icmp eq ptr %old, null
  br i1 %none, label %allocate, label %check
check:
  %capacity = load i64, ptr %old
  %enough = icmp uge i64 %capacity, %bytes
  br i1 %enough, label %measure, label %replace
measure:
  %large = icmp ugt i64 %capacity, 1048576
  %eighth = lshr i64 %capacity, 3
  %little = icmp ult i64 %bytes, %eighth
  %wasted = and i1 %large, %little
  %row.at = getelementptr i64, ptr %old, i64 1
  %row = load i64, ptr %row.at
  %row1 = add i64 %row, 1
  %row.now = select i1 %wasted, i64 %row1, i64 0
  store i64 %row.now, ptr %row.at
  %patient = icmp ult i64 %row.now, 256
  br i1 %patient, label %keep, label %replace
keep:
  ret ptr %old
replace:
  call void @free(ptr %old)
  br label %allocate
allocate:
  %size = add i64 %bytes, 64
  %failed = call i32 @posix_memalign(ptr %fresh, i64 64, i64 %size)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %done, label %out_of_memory
done:
  %workspace = load ptr, ptr %fresh
  store i64 %bytes, ptr %workspace
  %row.new = getelementptr i64, ptr %workspace, i64 1
  store i64 0, ptr %row.new
  ret ptr %workspace
out_of_memory:
  ret ptr null
}

; A workspace for each program of %launch, one after the other, %stride bytes apart. Null: out of memory.
define internal ptr @workspaces(ptr %launch, i64 %stride) {
entry:
  %fresh = alloca ptr
  %total.at = getelementptr %Launch, ptr %launch, i32 0, i32 2
  %total = load i64, ptr %total.at
  %product = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %total, i64 %stride)
  %size = extractvalue { i64, i1 } %product, 0
  %too.large = extractvalue { i64, i1 } %product, 1
  br i1 %too.large, label %out_of_memory, label %allocate
allocate:
  %failed = call i32 @posix_memalign(ptr %fresh, i64 64, i64 %size)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %done, label %out_of_memory
done:
  %first = load ptr, ptr %fresh
  ret ptr %first
out_of_memory:
  ret ptr null
}

; Runs programs %first up to %last, to the end or to the first that traps.
define internal i64 @run_programs(ptr %launch, ptr %workspace, i64 %first, i64 %last) {
entry:
  %none = icmp eq ptr %workspace, null
  br i1 %none, label %out_of_memory, label %call
call:
  %entry.point = load ptr, ptr %launch
  %scratch = getelementptr i8, ptr %workspace, i64 64
  %grid = getelementptr %Launch, ptr %launch, i32 0, i32 6
  %args = getelementptr %Launch, ptr %launch, i32 1
  %end = call { i32, i64 } %entry.point(ptr %args, ptr %scratch, ptr %grid, i64 %first, i64 %last)
  %code32 = extractvalue { i32, i64 } %end, 0
  %fine = icmp eq i32 %code32, 0
  br i1 %fine, label %through, label %trapped
through:
  ret i64 0
trapped:
  %program = extractvalue { i32, i64 } %end, 1
  %code = zext i32 %code32 to i64
  %above = shl i64 %program, 20
  %result = or i64 %above, %code
  ret i64 %result
out_of_memory:
  ret i64 -1
}

; Claims and runs chunks of %job until none is left. The first failure, in program order, is recorded in the job; after
; one nobody claims any more, and all lower programs have been claimed before. Returns how many programs it ran.
define internal i64 @work(ptr %job, ptr %workspace) {
entry:
  %launch = load ptr, ptr %job
  %chunk.at = getelementptr %Job, ptr %job, i32 0, i32 1
  %chunk = load i64, ptr %chunk.at
  %own.at = getelementptr %Job, ptr %job, i32 0, i32 5
  %own = load ptr, ptr %own.at
  %has.own = icmp ne ptr %own, null
  %stride.at = getelementptr %Job, ptr %job, i32 0, i32 6
  %stride = load i64, ptr %stride.at
  %next.at = getelementptr %Job, ptr %job, i32 0, i32 8
  %total.at = getelementptr %Launch, ptr %launch, i32 0, i32 2
  %total = load i64, ptr %total.at
  br label %claim
claim:
  %done = phi i64 [ 0, %entry ], [ %done1, %run ]
  %first = atomicrmw add ptr %next.at, i64 %chunk acq_rel, align 8
  %left = icmp ult i64 %first, %total
  br i1 %left, label %run, label %out
run:
  %end = add i64 %first, %chunk
  %partial = icmp ugt i64 %end, %total
  %last = select i1 %partial, i64 %total, i64 %end
  %distance = mul i64 %first, %stride
  %its.own = getelementptr i8, ptr %own, i64 %distance
  %place = select i1 %has.own, ptr %its.own, ptr %workspace
  %result = call i64 @run_programs(ptr %launch, ptr %place, i64 %first, i64 %last)
  %claimed = sub i64 %last, %first
  %done1 = add i64 %done, %claimed
  %ok = icmp eq i64 %result, 0
  br i1 %ok, label %claim, label %failed
failed:
  store atomic i64 %total, ptr %next.at release, align 8
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %where.at = getelementptr %Job, ptr %job, i32 0, i32 2
  %where = load i64, ptr %where.at
  %earlier = icmp ult i64 %first, %where
  br i1 %earlier, label %record, label %unlock
record:
  store i64 %first, ptr %where.at
  %result.at = getelementptr %Job, ptr %job, i32 0, i32 3
  store i64 %result, ptr %result.at
  br label %unlock
unlock:
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %out
out:
  %ran = phi i64 [ %done, %claim ], [ %done1, %unlock ]
  ret i64 %ran
}

; Notes that %ran programs took the time since %start.
define internal void @note_pace(ptr %launch, i64 %start, i64 %ran) {
entry:
  %none = icmp eq i64 %ran, 0
  br i1 %none, label %out, label %update
update:
  %pace.at.at = getelementptr %Launch, ptr %launch, i32 0, i32 3
  %pace.at = load ptr, ptr %pace.at.at
  %end = call i64 @now()
  %spent = sub i64 %end, %start
  %scaled = shl i64 %spent, 10
  %measured = udiv i64 %scaled, %ran
  %old = load atomic i64, ptr %pace.at monotonic, align 8
  %eighth = lshr i64 %old, 3
  %faded = sub i64 %old, %eighth
  %slower = icmp ugt i64 %measured, %faded
  %new = select i1 %slower, i64 %measured, i64 %faded
  store atomic i64 %new, ptr %pace.at monotonic, align 8
  br label %out
out:
  ret void
}

; A worker thread. Never returns; ends with the process.
define internal ptr @worker(ptr %unused) {
entry:
  %lock0 = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %look
look:                                             ; the mutex is held
  %seen = phi i64 [ 0, %entry ], [ %serial, %left ], [ %seen, %sleep ]
  %workspace = phi ptr [ null, %entry ], [ %fitting, %left ], [ %workspace, %sleep ]
  %job = load ptr, ptr @job
  %serial = load i64, ptr @serial
  %seats = load i32, ptr @seats
  %is.open = icmp ne ptr %job, null
  %is.new = icmp ne i64 %serial, %seen
  %is.free = icmp sgt i32 %seats, 0
  %open.new = and i1 %is.open, %is.new
  %may.join = and i1 %open.new, %is.free
  br i1 %may.join, label %join, label %sleep
sleep:
  %s0 = load i32, ptr @sleepers
  %s1 = add i32 %s0, 1
  store i32 %s1, ptr @sleepers
  %waited = call i32 @pthread_cond_wait(ptr @work_ready, ptr @mutex)
  %s2 = load i32, ptr @sleepers
  %s3 = sub i32 %s2, 1
  store i32 %s3, ptr @sleepers
  br label %look
join:
  %seats1 = sub i32 %seats, 1
  store i32 %seats1, ptr @seats
  %busy.at = getelementptr %Job, ptr %job, i32 0, i32 4
  %b0 = load i64, ptr %busy.at
  %b1 = add i64 %b0, 1
  store i64 %b1, ptr %busy.at
  %unlock1 = call i32 @pthread_mutex_unlock(ptr @mutex)
  %launch = load ptr, ptr %job
  %bytes.at = getelementptr %Launch, ptr %launch, i32 0, i32 1
  %bytes = load i64, ptr %bytes.at
  %own.at = getelementptr %Job, ptr %job, i32 0, i32 5
  %own = load ptr, ptr %own.at
  %shared = icmp eq ptr %own, null
  %needed = select i1 %shared, i64 %bytes, i64 0
  %fitting = call ptr @fit(ptr %workspace, i64 %needed)
  %ran = call i64 @work(ptr %job, ptr %fitting)
  %lock1 = call i32 @pthread_mutex_lock(ptr @mutex)
  %b2 = load i64, ptr %busy.at
  %b3 = sub i64 %b2, 1
  store atomic i64 %b3, ptr %busy.at release, align 8  ; the job may be gone once the mutex is released
  %idle = icmp eq i64 %b3, 0
  %w = load i32, ptr @waiting
  %awaited = icmp sgt i32 %w, 0
  %wake = and i1 %idle, %awaited
  br i1 %wake, label %notify, label %linger
notify:
  %notified = call i32 @pthread_cond_broadcast(ptr @work_done)
  br label %linger
linger:  ; the next launch often follows at once; a worker that sleeps is late, and on a busy machine on the wrong core
  %unlock2 = call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @spin(ptr @serial, i64 %serial, i1 false, i64 200000)
  %lock2 = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %left
left:
  br label %look
}

; Runs the grid described by %launch. 0, the result of the lowest program that failed, or -1: no memory for a workspace.
; -2 - n: a cooperative launch that got n threads only, its own included; nothing has run.
define i64 @pool_run(ptr %launch) {
entry:
  %job = alloca %Job, align 128
  %thread = alloca i64
  %bytes.at = getelementptr %Launch, ptr %launch, i32 0, i32 1
  %bytes = load i64, ptr %bytes.at
  %total.at = getelementptr %Launch, ptr %launch, i32 0, i32 2
  %total = load i64, ptr %total.at
  %threads.at = getelementptr %Launch, ptr %launch, i32 0, i32 4
  %threads32 = load i32, ptr %threads.at
  %threads = sext i32 %threads32 to i64
  %cooperative.at = getelementptr %Launch, ptr %launch, i32 0, i32 5
  %cooperative32 = load i32, ptr %cooperative.at
  %cooperative = icmp ne i32 %cooperative32, 0
  %few.threads = icmp slt i64 %threads, 2
  %few.programs = icmp ult i64 %total, 2
  %single = or i1 %few.threads, %few.programs
  %several = xor i1 %single, true
  %together = and i1 %cooperative, %several
  %with.header = add i64 %bytes, 127
  %stride = and i64 %with.header, -64
  br i1 %together, label %provide, label %begin
provide:
  %provided = call ptr @workspaces(ptr %launch, i64 %stride)
  %nothing = icmp eq ptr %provided, null
  br i1 %nothing, label %out_of_memory, label %begin
out_of_memory:
  ret i64 -1
begin:
  %private = phi ptr [ null, %entry ], [ %provided, %provide ]
  %needed = phi i64 [ %bytes, %entry ], [ 0, %provide ]
  %taken = atomicrmw xchg ptr @spare, ptr null acq_rel, align 8
  %workspace = call ptr @fit(ptr %taken, i64 %needed)
  br i1 %single, label %unshared, label %expect
unshared:
  %result.unshared = call i64 @run_programs(ptr %launch, ptr %workspace, i64 0, i64 %total)
  br label %finish
expect:
  %pace.at.at = getelementptr %Launch, ptr %launch, i32 0, i32 3
  %pace.at = load ptr, ptr %pace.at.at
  %pace = load atomic i64, ptr %pace.at monotonic, align 8
  %most = udiv i64 4096000, %total
  %guess = sub i64 %pace, 1                       ; wraps around where the pace is not known
  %short.work = icmp ult i64 %guess, %most
  %may.share = xor i1 %short.work, true
  %share = or i1 %cooperative, %may.share
  br i1 %share, label %try, label %alone
try:
  %locked0 = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %turn
turn:
  %current = load ptr, ptr @job
  %free = icmp eq ptr %current, null
  br i1 %free, label %open, label %occupied
occupied:
  br i1 %cooperative, label %queue, label %leave
queue:                                            ; all programs must run at once: wait for our turn
  %q0 = load i32, ptr @waiting
  %q1 = add i32 %q0, 1
  store i32 %q1, ptr @waiting
  %waited0 = call i32 @pthread_cond_wait(ptr @work_done, ptr @mutex)
  %q2 = load i32, ptr @waiting
  %q3 = sub i32 %q2, 1
  store i32 %q3, ptr @waiting
  br label %turn
leave:
  %unlocked1 = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %alone

alone:
  %start.alone = call i64 @now()
  %result.alone = call i64 @run_programs(ptr %launch, ptr %workspace, i64 0, i64 %total)
  call void @note_pace(ptr %launch, i64 %start.alone, i64 %total)
  br label %finish

open:                                             ; the mutex is held and no job is open
  %pieces = mul i64 %threads, 16
  %chunk0 = udiv i64 %total, %pieces
  %none = icmp eq i64 %chunk0, 0
  %chunk = select i1 %none, i64 1, i64 %chunk0
  store ptr %launch, ptr %job
  %chunk.at = getelementptr %Job, ptr %job, i32 0, i32 1
  store i64 %chunk, ptr %chunk.at
  %failed.at = getelementptr %Job, ptr %job, i32 0, i32 2
  store i64 -1, ptr %failed.at
  %result.at = getelementptr %Job, ptr %job, i32 0, i32 3
  store i64 0, ptr %result.at
  %busy.at = getelementptr %Job, ptr %job, i32 0, i32 4
  store i64 0, ptr %busy.at
  %private.at = getelementptr %Job, ptr %job, i32 0, i32 5
  store ptr %private, ptr %private.at
  %stride.at = getelementptr %Job, ptr %job, i32 0, i32 6
  store i64 %stride, ptr %stride.at
  %next.at = getelementptr %Job, ptr %job, i32 0, i32 8
  store i64 0, ptr %next.at
  %others = sub i64 %threads, 1
  %rest = sub i64 %total, 1
  %fewer = icmp ult i64 %rest, %others
  %helpers64 = select i1 %fewer, i64 %rest, i64 %others
  %helpers = trunc i64 %helpers64 to i32
  store i32 %helpers, ptr @seats
  store ptr %job, ptr @job
  %serial0 = load i64, ptr @serial
  %serial1 = add i64 %serial0, 1
  store atomic i64 %serial1, ptr @serial release, align 8
  br label %grow
grow:
  %have = load i32, ptr @workers
  %short = icmp slt i32 %have, %helpers
  br i1 %short, label %start.thread, label %wake
start.thread:
  %refused = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr null)
  %created = icmp eq i32 %refused, 0
  br i1 %created, label %count, label %fewer.threads
fewer.threads:                                    ; slower, still right, unless the programs wait for each other
  br i1 %cooperative, label %withdraw, label %wake
withdraw:                                         ; nobody has joined: that takes the mutex
  store ptr null, ptr @job
  store i32 0, ptr @seats
  %result32 = sub i32 -3, %have
  %result.withdrawn = sext i32 %result32 to i64
  %passed.too = call i32 @pthread_cond_broadcast(ptr @work_done)
  %unlocked6 = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %finish
count:
  %id = load i64, ptr %thread
  %detached = call i32 @pthread_detach(i64 %id)
  %have1 = add i32 %have, 1
  store i32 %have1, ptr @workers
  br label %grow
wake:                                             ; those that do not sleep are about to look for work anyway
  %all = load i32, ptr @workers
  %asleep = load i32, ptr @sleepers
  %awake = sub i32 %all, %asleep
  %wanted = sub i32 %helpers, %awake
  %unlocked2 = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %signal
signal:
  %i = phi i32 [ %wanted, %wake ], [ %i1, %ring ]
  %more = icmp sgt i32 %i, 0
  br i1 %more, label %ring, label %own
ring:
  %rung = call i32 @pthread_cond_signal(ptr @work_ready)
  %i1 = sub i32 %i, 1
  br label %signal
own:
  %start = call i64 @now()
  %ran = call i64 @work(ptr %job, ptr %workspace)
  call void @note_pace(ptr %launch, i64 %start, i64 %ran)
  %locked3 = call i32 @pthread_mutex_lock(ptr @mutex)
  store ptr null, ptr @job                        ; nobody joins from here on
  %busy3 = load i64, ptr %busy.at
  %idle3 = icmp eq i64 %busy3, 0
  br i1 %idle3, label %close, label %patience
patience:
  %unlocked3 = call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @spin(ptr %busy.at, i64 0, i1 true, i64 20000)
  %locked4 = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %drain
drain:
  %busy4 = load i64, ptr %busy.at
  %idle4 = icmp eq i64 %busy4, 0
  br i1 %idle4, label %close, label %rest4
rest4:
  %p0 = load i32, ptr @waiting
  %p1 = add i32 %p0, 1
  store i32 %p1, ptr @waiting
  %waited4 = call i32 @pthread_cond_wait(ptr @work_done, ptr @mutex)
  %p2 = load i32, ptr @waiting
  %p3 = sub i32 %p2, 1
  store i32 %p3, ptr @waiting
  br label %drain
close:
  %result.pool = load i64, ptr %result.at
  %queued = load i32, ptr @waiting
  %someone = icmp sgt i32 %queued, 0
  br i1 %someone, label %pass_on, label %unlock5
pass_on:                                          ; a cooperative launch waits for its turn
  %passed = call i32 @pthread_cond_broadcast(ptr @work_done)
  br label %unlock5
unlock5:
  %unlocked5 = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %finish

finish:
  %result = phi i64 [ %result.unshared, %unshared ], [ %result.alone, %alone ], [ %result.pool, %unlock5 ], [ %result.withdrawn, %withdraw ]
  call void @free(ptr %private)
  %other = atomicrmw xchg ptr @spare, ptr %workspace acq_rel, align 8
  call void @free(ptr %other)
  ret i64 %result
}

; Forgets all workers: called in the child of a fork, where none of them exists. The workspace stays.
define void @pool_forget_workers() {
  call void @llvm.memset.p0.i64(ptr @mutex, i8 0, i64 64, i1 false)
  call void @llvm.memset.p0.i64(ptr @work_ready, i8 0, i64 64, i1 false)
  call void @llvm.memset.p0.i64(ptr @work_done, i8 0, i64 64, i1 false)
  store ptr null, ptr @job
  store i32 0, ptr @seats
  store i32 0, ptr @workers
  store i32 0, ptr @sleepers
  store i32 0, ptr @waiting
  ret void
}

; Threads started so far, without the calling ones.
define i32 @pool_workers() {
  %n = load atomic i32, ptr @workers monotonic, align 4
  ret i32 %n
}
