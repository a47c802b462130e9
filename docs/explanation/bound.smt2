; The bound of a bucket as theorems that an SMT solver checks: z3 docs/explanation/bound.smt2
; bound.md explains them. A theorem holds if no numbers contradict it, so its answer is "unsat". A
; control is a theorem about a weakened step, which is wrong, so its answer is "sat".
; All numbers are integers: ticks, and instants on the clock of the store.
(set-logic ALL)

; --- The step, as in crates/gcra/src/step.rs. A test compares both on random numbers. ---

(define-fun later ((a Int) (b Int)) Int (ite (< a b) b a))
(define-fun earlier ((a Int) (b Int)) Int (ite (< a b) a b))
(define-fun saturating-sub ((a Int) (b Int)) Int (ite (< a b) 0 (- a b)))

; `drained` is now, the last drain tick, or the start of a window plus the span.
(define-fun held ((empty-at Int) (drained Int) (span Int)) Int
  (later empty-at (saturating-sub drained span)))
(define-fun granted ((empty-at Int) (drained Int) (cost Int) (span Int) (max-wait Int)) Bool
  (<= (- (+ (held empty-at drained span) cost) drained) max-wait))
(define-fun exceeds-capacity ((cost Int) (span Int) (max-wait Int)) Bool (> cost (+ span max-wait)))
(define-fun state-after ((empty-at Int) (now Int) (drained Int) (cost Int) (span Int) (max-wait Int)
                         (max-debt Int)) Int
  (let ((next (+ (held empty-at drained span) cost)))
    (ite (granted empty-at drained cost span max-wait) (ite (= cost 0) empty-at next)
    (ite (or (exceeds-capacity cost span max-wait) (= max-debt 0)) empty-at
         (later empty-at (earlier next (+ now max-debt)))))))
(define-fun retry-after ((empty-at Int) (now Int) (cost Int) (span Int) (max-wait Int)) Int
  (saturating-sub (saturating-sub (+ (held empty-at now span) cost) max-wait) now))

; --- The numbers of one call, within the ranges that the code checks before it. ---

(declare-const e Int)         ; empty_at before the call
(declare-const now Int)       ; its instant
(declare-const cost Int)
(declare-const span Int)
(declare-const max-wait Int)
(declare-const max-debt Int)
(define-fun B () Int 1152921504606846976) ; 2^60
(assert (and (<= B now) (< now (* 2 B)) (<= 0 e) (<= e (* 3 B))))
(assert (and (< 0 cost) (<= cost (* 4 B)) (<= 0 span) (<= span B)))
(assert (and (<= (- B) max-wait) (<= max-wait B) (<= 0 max-debt) (<= max-debt B)))
(assert (=> (not (= max-debt 0)) (<= max-wait 0)))
(define-fun after () Int (state-after e now now cost span max-wait max-debt))
(define-fun is-granted () Bool (granted e now cost span max-wait))
; A take owns the part (from, to] of the axis of time.
(define-fun from () Int (held e now span))
(define-fun to () Int (+ from cost))

(echo "no sum reaches 2^63")
(push)
(assert (not (and (< to (* 8 B)) (< (+ now max-debt) (* 8 B)) (<= 0 from)
                  (< (- (* 8 B)) (- to now)) (< (- to now) (* 8 B)))))
(check-sat)
(pop)

(echo "empty_at never moves back")
(push)
(assert (< after e))
(check-sat)
(pop)

; --- The induction over the calls on a bucket. ---
; The greatest span of all calls is S. The window is [t1, t2], and L = t1 - S. `sum` is the cost of
; the takes before this call that count in the window, and `last` the instant of the call before it.
; The part of the axis up to `front` has owners, or lies too far back to be owned again.

(declare-const S Int)
(declare-const t1 Int)
(declare-const t2 Int)
(declare-const sum Int)
(declare-const last Int)
(assert (and (<= span S) (<= S B) (<= t1 t2) (<= last now)))
(define-fun L () Int (- t1 S))
(define-fun front ((state Int) (instant Int)) Int (later state (- instant S)))
(define-fun invariant ((total Int) (state Int) (instant Int)) Bool
  (and (<= 0 total) (<= total (later 0 (- (earlier (front state instant) t2) L)))))
; A take counts in the window if its part lies in (L, t2].
(define-fun counts () Bool (and (<= L from) (<= to t2)))

(echo "base: before the first call, nothing is counted")
(push)
(assert (not (invariant 0 e last)))
(check-sat)
(pop)

(echo "step: a take keeps the invariant")
(push)
(assert (and (invariant sum e last) is-granted))
(assert (not (invariant (ite counts (+ sum cost) sum) after now)))
(check-sat)
(pop)

(echo "step: a slice keeps the invariant, of which a part counts")
(push)
(declare-const slice-from Int)
(declare-const slice-to Int)
(declare-const counted Int)
(assert (and (invariant sum e last) (<= (later e (- now span)) slice-from) (<= slice-from slice-to)))
(assert (and (<= 0 counted) (<= counted (later 0 (- (earlier slice-to t2) (later slice-from L))))))
(assert (not (invariant (+ sum counted) slice-to now)))
(check-sat)
(pop)

(echo "step: a denial, a charge of a denial and the passing of time keep the invariant")
(push)
(assert (and (invariant sum e last) (not is-granted)))
(assert (not (invariant sum after now)))
(check-sat)
(pop)

(echo "step: a block keeps the invariant")
(declare-const raised Int)
(push)
(assert (and (invariant sum e last) (<= e raised)))
(assert (not (invariant sum raised now)))
(check-sat)
(pop)

(echo "step: forgetting a record that is full under the greatest span keeps the invariant")
(push)
(assert (and (invariant sum e last) (<= (+ e S) now)))
(assert (not (invariant sum 0 now)))
(check-sat)
(pop)

(declare-const given-back Int)
(echo "step: cancelling the last take returns to an earlier invariant")
(push)
(assert (and (invariant sum e last) is-granted (<= 0 given-back) (<= given-back cost)))
(assert (not (invariant sum (- after given-back) now)))
(check-sat)
(pop)

(echo "bound: all that counts in the window costs at most the greatest span plus its length")
(push)
(assert (invariant sum e last))
(assert (not (<= sum (+ S (- t2 t1)))))
(check-sat)
(pop)

; --- Each kind of take counts in every window in which it happens. ---

(echo "a grant without a wait counts")
(push)
(assert (and is-granted (<= max-wait 0) (<= t1 now) (<= now t2)))
(assert (not counts))
(check-sat)
(pop)

(define-fun due () Int (later to now))
(echo "a reservation counts where it is due")
(push)
(assert (and is-granted (<= cost span) (<= t1 due) (<= due t2)))
(assert (not counts))
(check-sat)
(pop)

; The host of a place or a slice does not know the server's clock. It sent its request at `sent` and
; had the reply at `received`. The take was at `now`, between both. The part is used at `use`. These
; are instants of the server's clock, in which the host's clock runs at another rate: `host-wait` and
; `host-age` are the host's times from `received` and from `sent` to `use`.
(declare-const sent Real)
(declare-const received Real)
(declare-const use Real)
(declare-const host-wait Real)
(declare-const host-age Real)
(define-fun slower ((ticks Real)) Real (* ticks (/ 1023.0 1024.0)))
(define-fun faster ((ticks Real)) Real (* ticks (/ 1025.0 1024.0)))
(define-fun runs-at-almost-the-rate ((host Real) (server Real)) Bool
  (and (<= (slower server) host) (<= host (faster server))))
(define-fun a-host-uses-it-in-the-window () Bool
  (and (<= sent (to_real now)) (<= (to_real now) received) (<= received use)
       (runs-at-almost-the-rate host-wait (- use received))
       (runs-at-almost-the-rate host-age (- use sent))
       (<= (to_real t1) use) (<= use (to_real t2))))

; A place is a take whose tokens are not there yet.
(define-fun is-place () Bool
  (and is-granted (< now to) (<= cost span) a-host-uses-it-in-the-window))
(define-fun wait () Int (- to now))
(define-fun is-due () Bool (>= host-wait (faster (to_real wait))))
(define-fun has-not-ended () Bool (< host-age (slower (to_real (- (+ wait span) cost)))))

; A slice begins at `start`, and one call uses the part from `part-from` to `part-to`.
(declare-const life Int)
(declare-const start Int)
(declare-const part-from Int)
(declare-const part-to Int)
(define-fun is-used-call-of-slice () Bool
  (and a-host-uses-it-in-the-window (<= 0 life) (<= (* 8 life) span)
       (<= start part-from) (<= part-from part-to) (<= (* 4 (- part-to start)) (- now start))
       (< host-age (slower (to_real life)))))
(define-fun part-counts () Bool (and (<= L part-from) (<= part-to t2)))

(echo "a place counts where a host uses it")
(push)
(assert (and is-place is-due has-not-ended))
(assert (not counts))
(check-sat)
(pop)

(echo "a call of a slice counts where a host uses it")
(push)
(assert (and is-used-call-of-slice (= start (later e (+ (- now span) life)))))
(assert (not part-counts))
(check-sat)
(pop)

; --- Floors, windows of a calendar, and denials. ---

(echo "a grant above a floor leaves the tokens of the floor")
(push)
(assert (and is-granted (<= max-wait 0) (> to (+ now max-wait))))
(check-sat)
(pop)

(declare-const window Int) ; the start of the window of a quota; its end is not before start + span
(define-fun used ((state Int)) Int (- (later state window) window))
(assert (and (<= span window) (<= window now)))

(echo "quota: the takes of a window cost at most the limit")
(push)
(define-fun full-at () Int (+ window span))
(assert (and (= max-wait 0) (granted e full-at cost span 0) (<= sum (used e))))
(define-fun quota-after () Int (state-after e now full-at cost span 0 0))
(assert (not (and (<= (+ sum cost) (used quota-after)) (<= (used quota-after) span))))
(check-sat)
(pop)

(echo "a denial is explained: the bucket holds less than the cost and the floor")
(push)
(define-fun available () Int (earlier (saturating-sub now e) span))
(assert (and (not is-granted) (<= max-wait 0) (>= available (- cost max-wait))))
(check-sat)
(pop)

(echo "after retryAfter the same call is granted, and a tick earlier it is denied")
(push)
(define-fun again () Int (+ now (retry-after e now cost span max-wait)))
(assert (and (not is-granted) (not (exceeds-capacity cost span max-wait)) (= max-debt 0)))
(assert (not (and (granted e again cost span max-wait)
                  (not (granted e (- again 1) cost span max-wait)))))
(check-sat)
(pop)

; --- Controls: each weakens the step in one place. ---

(echo "control: a grant a tick too early")
(push)
(assert (and (<= to (+ now 1)) (<= t1 now) (<= now t2) (not counts)))
(check-sat)
(pop)

(echo "control: a bucket that holds more than its capacity")
(push)
(assert (and (invariant sum e last) (<= (+ e cost) now) (<= t1 now) (<= now t2)))
(assert (not (invariant (+ sum cost) (+ e cost) now)))
(check-sat)
(pop)

(echo "control: a denial that moves the state back")
(push)
(assert (and (invariant sum e last) (not is-granted)))
(assert (not (invariant sum (- e 1) now)))
(check-sat)
(pop)

(echo "control: a record that is forgotten a tick too early")
(push)
(assert (and (invariant sum e last) (<= (+ e S) (+ now 1))))
(assert (not (invariant sum 0 now)))
(check-sat)
(pop)

(echo "control: a record that is forgotten when it is full under a smaller span")
(push)
(assert (and (invariant sum e last) (<= (+ e span) now)))
(assert (not (invariant sum 0 now)))
(check-sat)
(pop)

(echo "control: a cancel of a take that is not the last one")
(push)
(assert (and (invariant sum e last) (<= 0 given-back) (<= given-back cost)))
(assert (not (invariant sum (- e given-back) now)))
(check-sat)
(pop)

(echo "control: a reservation for more than the capacity")
(push)
(assert (and is-granted (<= t1 due) (<= due t2) (not counts)))
(check-sat)
(pop)

(echo "control: a place that is due without regard to the rates of clocks")
(push)
(assert (and is-place (>= host-wait (to_real wait)) has-not-ended))
(assert (not counts))
(check-sat)
(pop)

(echo "control: a place that is used after its end")
(push)
(assert (and is-place is-due (not counts)))
(check-sat)
(pop)

(echo "control: a slice of tokens that may be older")
(push)
(assert (and is-used-call-of-slice (= start (later e (- now span))) (not part-counts)))
(check-sat)
(pop)
