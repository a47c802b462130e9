<?php

declare(strict_types=1);

use Illuminate\Support\Facades\Route;

$answer = fn () => response('passes', 200, ['Content-Length' => '6']);
Route::get('/downloads', $answer)->middleware('throttle:downloads');
Route::get('/plenty', $answer)->middleware('throttle:plenty');
Route::get('/none', $answer)->middleware('throttle:none');
Route::get('/unlimited', $answer);
